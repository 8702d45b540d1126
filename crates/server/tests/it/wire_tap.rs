//! A way between two servers that carries bytes and looks at how connections begin: plain requests or WebSockets. It can
//! fall silent without closing anything, as a half-open connection does.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// The longest beginning of a connection that is looked at.
const BEGINNING_BYTES: usize = 4096;

pub(crate) struct WireTap {
    pub(crate) url: String,
    beginnings: Arc<Mutex<Vec<String>>>,
    is_silent: watch::Sender<bool>,
    carrying: JoinHandle<()>,
}

impl WireTap {
    pub(crate) async fn to(url: &str) -> Self {
        let to = url.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = format!("http://{}", listener.local_addr().unwrap());
        let beginnings = Arc::new(Mutex::default());
        let is_silent = watch::Sender::new(false);
        let silence = is_silent.subscribe();
        let heard = Arc::clone(&beginnings);
        #[allow(clippy::disallowed_methods, reason = "a test has no engine to spawn for it")]
        let carrying = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(carry(client, to.clone(), heard.clone(), silence.clone()));
            }
        });
        Self { url: own, beginnings, is_silent, carrying }
    }

    /// Connections that became WebSockets.
    pub(crate) fn sockets(&self) -> usize {
        let is_upgrade = |beginning: &&String| beginning.to_ascii_lowercase().contains("upgrade: websocket");
        self.beginnings.lock().unwrap().iter().filter(is_upgrade).count()
    }

    /// From now on nothing is carried, and nothing is closed: connections are half open.
    pub(crate) fn fall_silent(&self) {
        self.is_silent.send_replace(true);
    }

    /// New connections are carried again. Those that fell silent stay so.
    pub(crate) fn speak(&self) {
        self.is_silent.send_replace(false);
    }
}

impl Drop for WireTap {
    fn drop(&mut self) {
        self.carrying.abort();
    }
}

async fn carry(
    mut client: TcpStream,
    to: String,
    beginnings: Arc<Mutex<Vec<String>>>,
    mut silence: watch::Receiver<bool>,
) {
    let carrying = async {
        let mut beginning = vec![0; BEGINNING_BYTES];
        let count = client.read(&mut beginning).await.unwrap_or(0);
        let beginning = &beginning[..count];
        beginnings.lock().unwrap().push(String::from_utf8_lossy(beginning).into_owned());
        let Ok(mut server) = TcpStream::connect(to).await else { return };
        if server.write_all(beginning).await.is_ok() {
            // Either side may end it in any way.
            let _ = copy_bidirectional(&mut client, &mut server).await;
        }
    };
    tokio::select! {
        () = carrying => return,
        _ = silence.wait_for(|is_silent| *is_silent) => {}
    }
    // Held, and neither read nor written.
    std::future::pending::<()>().await;
}
