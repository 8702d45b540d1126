//! A way between two servers that carries bytes and looks at how connections begin: plain requests or WebSockets. It can
//! fall silent without closing anything, as a half-open connection does. It may speak TLS, as a proxy before a service.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The longest beginning of a connection that is looked at.
const BEGINNING_BYTES: usize = 4096;

pub(crate) struct WireTap {
    pub(crate) url: String,
    beginnings: Arc<Mutex<Vec<String>>>,
    is_silent: watch::Sender<bool>,
    /// Counts how often every connection was cut.
    cuts: watch::Sender<u64>,
    carrying: JoinHandle<()>,
}

impl WireTap {
    pub(crate) async fn to(url: &str) -> Self {
        Self::carrying(url, None).await
    }

    /// The same, reached by https, with what `write_certificates` has written.
    pub(crate) async fn with_tls(url: &str, certificates: &Path) -> Self {
        let chain = vec![CertificateDer::from_pem_file(certificates.join("server.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(certificates.join("server.key")).unwrap();
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        Self::carrying(url, Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    async fn carrying(url: &str, tls: Option<TlsAcceptor>) -> Self {
        let to = url.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let own = format!("{scheme}://{}", listener.local_addr().unwrap());
        let beginnings = Arc::new(Mutex::default());
        let is_silent = watch::Sender::new(false);
        let silence = is_silent.subscribe();
        let cuts = watch::Sender::new(0);
        let cut = cuts.subscribe();
        let heard = Arc::clone(&beginnings);
        #[allow(clippy::disallowed_methods, reason = "a test has no engine to spawn for it")]
        let carrying = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let to = to.clone();
                let tls = tls.clone();
                let heard = Arc::clone(&heard);
                let silence = silence.clone();
                let mut cut = cut.clone();
                cut.mark_unchanged();
                connections.spawn(async move {
                    let carrying = async {
                        match tls {
                            None => carry(client, to, heard, silence).await,
                            Some(tls) => {
                                // Who does not trust the certificate goes away here.
                                let Ok(client) = tls.accept(client).await else { return };
                                carry(client, to, heard, silence).await;
                            }
                        }
                    };
                    tokio::select! {
                        () = carrying => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        Self { url: own, beginnings, is_silent, cuts, carrying }
    }

    /// How connections began.
    pub(crate) fn beginnings(&self) -> Vec<String> {
        self.beginnings.lock().unwrap().clone()
    }

    /// Connections that became WebSockets.
    pub(crate) fn sockets(&self) -> usize {
        let is_upgrade = |beginning: &&String| beginning.to_ascii_lowercase().contains("upgrade: websocket");
        self.beginnings.lock().unwrap().iter().filter(is_upgrade).count()
    }

    /// Every connection ends where it is. New ones are carried.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|count| *count += 1);
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

/// Writes an authority and a certificate of it for this machine's own address, new each time. Gives the file of the
/// authority: a process that trusts it trusts a way with TLS.
pub(crate) fn write_certificates(directory: &Path) -> PathBuf {
    let openssl = |arguments: &str| {
        let made = Command::new("openssl").args(arguments.split(' ')).current_dir(directory).output();
        let made = made.expect("openssl runs; scripts/setup installs it");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2";
    openssl(&format!("req -x509 {key} -subj /CN=authority -keyout ca.key -out ca.pem"));
    openssl(&format!(
        "req -x509 {key} -subj /CN=service -CA ca.pem -CAkey ca.key -keyout server.key -out server.pem \
         -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE"
    ));
    directory.join("ca.pem")
}

async fn carry(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
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
