//! Directories whose files do not answer, as on a network mount that is gone.

use futures_util::future::join_all;
use std::path::Path;
use std::time::Duration;
use sturdy_engine::EngineError;
use sturdy_engine::files::HangPlan;
use sturdy_testkit::{World, answer};

const PER_DIRECTORY_MAX: usize = 4;

async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_directory_that_hangs_holds_a_few_threads_and_nobody_else_waits() {
    let gone = "/mnt/gone";
    let hang = HangPlan::of(Path::new(gone));
    let plan = hang.clone();
    let world = World::with(|options| options.hang = plan).await;
    let looks = join_all((0..40).map(|number| {
        let engine = world.engine.clone();
        async move { engine.look_at_files(gone, move || number).await }
    }));
    let made = world.engine.instance(gone);
    let asked = async {
        // The others are served meanwhile, whole turns included.
        until(|| hang.threads() == PER_DIRECTORY_MAX).await;
        let session = world.session().await;
        world.provider.will(answer().text("Here.").finish("stop"));
        world.ask(&session.id, "there?").await.unwrap();
        assert_eq!(hang.threads(), PER_DIRECTORY_MAX, "no more, however many ask");
        hang.let_go();
    };

    let (looked, made, ()) = tokio::join!(looks, made, asked);

    let found: Vec<usize> = looked.into_iter().map(Result::unwrap).collect();
    assert_eq!(found, (0..40).collect::<Vec<_>>());
    assert_eq!(made.unwrap().directory, gone);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_directory_that_hangs_is_told() {
    let gone = "/mnt/gone";
    let hang = HangPlan::of(Path::new(gone));
    let plan = hang.clone();
    let world = World::with(|options| options.hang = plan).await;
    let look = world.engine.look_at_files(gone, || ());
    let wait = async {
        until(|| hang.threads() == 1).await;
        tokio::time::advance(Duration::from_secs(21)).await;
    };

    let (looked, ()) = tokio::join!(look, wait);

    assert!(matches!(looked, Err(EngineError::Hangs(ref directory)) if directory == gone), "{looked:?}");
    assert_eq!(hang.threads(), 1, "the thread cannot be taken back");
    // Was: the end of the process waited for such threads.
    world.engine.close().await;
    hang.let_go();
}
