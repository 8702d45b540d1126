//! Serves until a signal asks it to stop.

use crate::failure::{BROKEN, Failure, INTERRUPTED, UNMET};
use crate::traces::SHUTDOWN_WAIT_MAX;
use crate::{notify, out};
use std::io;
use std::process::ExitCode;
use sturdy_engine::Engine;
use sturdy_engine::task::Tasks;
use sturdy_server::App;
use sturdy_session::types::event::{Event, Nothing};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tracing::info;

/// Serves until it is told to stop or cannot go on, then lets running requests end and closes the store.
pub(super) async fn until_told(
    signals: &mut Signals,
    listener: TcpListener,
    app: App,
    address: &str,
    exporting: Tasks,
) -> ExitCode {
    let engine = app.engine().clone();
    let mut serving = engine.tasks().spawn("server", sturdy_server::serve(listener, app.clone()));
    notify::ready(&engine.options().environment, address);
    let code = told(signals, &mut serving, &engine).await;
    notify::stopping(&engine.options().environment);
    app.closing().cancel();
    tokio::select! {
        // The second word is not a request.
        code = signals.stop() => return code,
        _ = serving => {}
    }
    engine.close().await;
    // Behind everything that has spans. It ends by itself before its time is up.
    exporting.finish(SHUTDOWN_WAIT_MAX * 2).await;
    info!("closed");
    code
}

/// Waits until it is told to stop, or cannot go on.
async fn told(signals: &mut Signals, serving: &mut JoinHandle<()>, engine: &Engine) -> ExitCode {
    loop {
        tokio::select! {
            told = signals.next() => match told {
                Told::Stop(code) => return code,
                Told::ReadAgain => read_again(engine),
            },
            // Only ends when it is told to; a panic in it ends the program.
            _ = &mut *serving => return ExitCode::from(UNMET),
            // Nothing can be stored any more: whoever started us starts us again, and that settles what is open.
            () = engine.broke() => {
                out::talk("error: the store's writing thread failed; the server ends. Start it again.");
                return ExitCode::from(BROKEN);
            }
        }
    }
}

/// Reads the configuration of every directory again, and tells clients to look again. What runs goes on.
fn read_again(engine: &Engine) {
    let reading = engine.clone();
    // Beside waiting for signals: a directory may lie on a mount that hangs.
    engine.tasks().spawn("read configuration", async move {
        reading.reload_all().await;
        reading.feed().tell(reading.clock().now(), None, None, Event::GlobalDisposed(Nothing {}));
        info!("configuration was read again");
    });
}

/// What a signal means.
enum Told {
    Stop(ExitCode),
    ReadAgain,
}

/// The ways to be told to stop, and to read configuration again.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub(super) fn watch() -> Result<Self, Failure> {
        let refused =
            |cause: io::Error| Failure::new(UNMET, "signals cannot be watched").with("cause", cause);
        let interrupt = signal(SignalKind::interrupt()).map_err(refused)?;
        let terminate = signal(SignalKind::terminate()).map_err(refused)?;
        let hangup = signal(SignalKind::hangup()).map_err(refused)?;
        Ok(Self { interrupt, terminate, hangup })
    }

    /// Waits for the next one.
    async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.interrupt.recv() => Told::Stop(ExitCode::from(INTERRUPTED)),
            _ = self.terminate.recv() => Told::Stop(ExitCode::SUCCESS),
            _ = self.hangup.recv() => Told::ReadAgain,
        }
    }

    /// Waits until it is told to stop, and says which exit code that means.
    async fn stop(&mut self) -> ExitCode {
        loop {
            if let Told::Stop(code) = self.next().await {
                return code;
            }
        }
    }
}
