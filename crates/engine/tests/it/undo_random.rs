//! Whatever agents and people do to files, in any order: an undo does what it says, taking it back restores exactly,
//! and every tree that a session names is kept (invariants I14 and I15, through whole turns).
//!
//! What is expected is worked out here once more, in the plainest way.

use crate::tools::runs;
use crate::undo::{read, repository, turn};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use sturdy_engine::{RevertRequest, verify};
use sturdy_session::id::{MessageId, SessionId};
use sturdy_testkit::World;

const NAMES: [&str; 3] = ["a.txt", "b.txt", "deep/c.txt"];

type Files = BTreeMap<&'static str, Option<String>>;

#[derive(Clone, Debug)]
enum Act {
    /// A command of the agent writes or removes a file.
    Agent(usize, Option<u8>),
    Person(usize, Option<u8>),
    Undo(usize),
    Redo,
    /// git collects everything that nothing keeps.
    Collect,
}

fn act() -> impl Strategy<Value = Act> {
    let text = || proptest::option::weighted(0.8, 0..3_u8);
    let file = || 0..NAMES.len();
    prop_oneof![
        4 => (file(), text()).prop_map(|(file, text)| Act::Agent(file, text)),
        3 => (file(), text()).prop_map(|(file, text)| Act::Person(file, text)),
        3 => (0..4_usize).prop_map(Act::Undo),
        2 => Just(Act::Redo),
        1 => Just(Act::Collect),
    ]
}

/// What one turn changed: each file as it was found and as it was left.
struct Turn {
    prompt: MessageId,
    changes: BTreeMap<&'static str, (Option<String>, Option<String>)>,
}

/// An undo that stands.
struct Standing {
    from: usize,
    /// The files it may have touched, as they were before it.
    before: Files,
    /// And as it wanted them.
    found: Files,
}

struct Play {
    world: World,
    session: SessionId,
    turns: Vec<Turn>,
    standing: Option<Standing>,
}

impl Play {
    async fn new() -> Self {
        let world = repository().await;
        let session = world.session().await.id;
        fs::create_dir(world.disk.project().join("deep")).unwrap();
        Self { world, session, turns: Vec::new(), standing: None }
    }

    fn files(&self) -> Files {
        NAMES.iter().map(|name| (*name, read(&self.world, name))).collect()
    }

    async fn act(&mut self, act: &Act) {
        match act {
            Act::Agent(file, text) => self.agent(NAMES[*file], *text).await,
            Act::Person(file, text) => self.person(NAMES[*file], *text),
            Act::Undo(number) => self.undo(*number).await,
            Act::Redo => self.redo().await,
            Act::Collect => self.collect(),
        }
    }

    async fn agent(&mut self, name: &'static str, text: Option<u8>) {
        let command = match text {
            Some(text) => format!("mkdir -p deep; printf {text} > {name}"),
            None => format!("rm -f {name}"),
        };
        // A prompt makes an undo final.
        if let Some(standing) = self.standing.take() {
            self.turns.truncate(standing.from);
        }
        let before = self.files();
        let prompt = turn(&self.world, &self.session, runs(&command)).await;
        let after = self.files();
        let changed = NAMES.iter().filter(|name| before[*name] != after[*name]);
        let changes = changed.map(|name| (*name, (before[name].clone(), after[name].clone()))).collect();
        self.turns.push(Turn { prompt, changes });
    }

    fn person(&self, name: &str, text: Option<u8>) {
        let place = self.world.disk.project().join(name);
        match text {
            Some(text) => {
                fs::create_dir_all(place.parent().unwrap()).unwrap();
                fs::write(place, format!("{text}")).unwrap();
            }
            None => drop(fs::remove_file(place)),
        }
    }

    fn collect(&self) {
        for project in fs::read_dir(self.world.disk.data().join("trees")).into_iter().flatten() {
            for store in fs::read_dir(project.unwrap().path()).into_iter().flatten() {
                let dir = store.unwrap().path();
                if dir.join("HEAD").exists() {
                    let done =
                        Command::new("git").args(["gc", "-q", "--prune=now"]).env("GIT_DIR", &dir).status();
                    assert!(done.unwrap().success());
                }
            }
        }
    }

    /// Where the files of these turns go back to, as they were left last, and whether nobody came between.
    fn targets(&self, from: usize) -> BTreeMap<&'static str, (Option<String>, Option<String>, bool)> {
        let mut targets = BTreeMap::new();
        for turn in &self.turns[from..] {
            for (name, (found, left)) in &turn.changes {
                let target = targets.entry(*name).or_insert((found.clone(), found.clone(), true));
                target.2 &= target.1 == *found;
                target.1 = left.clone();
            }
        }
        targets
    }

    async fn undo(&mut self, number: usize) {
        if self.turns.is_empty() {
            return;
        }
        let from = number % self.turns.len();
        let now = self.files();
        let targets = self.targets(from);
        let old = self.standing.take();
        let mut before: Files = targets.keys().map(|name| (*name, now[name].clone())).collect();
        let mut expected = now.clone();
        let mut conflicts = BTreeSet::new();
        if let Some(old) = &old {
            let theirs = old.before.iter().filter(|(name, _)| old.found.contains_key(*name));
            before.extend(theirs.map(|(name, text)| (*name, text.clone())));
        }
        for (name, there) in &before {
            let mut to = there.clone();
            if let Some((found, left, is_alone)) = targets.get(name)
                && there != found
            {
                if there == left && *is_alone {
                    to = found.clone();
                } else {
                    conflicts.insert((*name).to_owned());
                }
            }
            let undone = old.as_ref().and_then(|old| old.found.get(name));
            if now[name] == *there || undone == Some(&now[name]) || now[name] == to {
                expected.insert(*name, to);
            } else {
                conflicts.insert((*name).to_owned());
            }
        }
        let request =
            RevertRequest { message: Some(self.turns[from].prompt.clone()), ..RevertRequest::default() };
        let undone = self.world.engine.revert(&self.session, request).await.unwrap();
        let said: BTreeSet<String> =
            undone.revert.unwrap().conflicts.into_iter().map(|conflict| conflict.file).collect();
        assert_eq!(self.files(), expected, "after an undo of {from}");
        assert_eq!(said, conflicts, "the conflicts of an undo of {from}");
        let found = targets.into_iter().map(|(name, (found, ..))| (name, found)).collect();
        self.standing = Some(Standing { from, before, found });
    }

    async fn redo(&mut self) {
        let mut expected = self.files();
        if let Some(standing) = self.standing.take() {
            for name in standing.found.keys() {
                let was = &standing.before[name];
                if expected[name] == *was || expected[name] == standing.found[name] {
                    expected.insert(*name, was.clone());
                }
            }
        }
        self.world.engine.unrevert(&self.session).await.unwrap();
        assert_eq!(self.files(), expected, "after taking an undo back");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn whatever_agents_and_people_do_an_undo_is_exact_and_loses_nothing(acts in proptest::collection::vec(act(), 1..9)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let mut play = Play::new().await;
            for act in &acts {
                play.act(act).await;
            }
            play.redo().await;
            let found = verify::trees(play.world.engine.store(), &play.world.disk.data(), &[]).await.unwrap();
            assert_eq!(found, [], "a tree that the session names is not kept");
            play.world.engine.close().await;
        });
    }
}
