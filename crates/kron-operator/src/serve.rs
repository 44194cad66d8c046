//! `/metrics`, `/healthz` and `/readyz`: three pages, for which a web server would be more
//! than all the rest. A request is its first line; whoever is slow or large is hung up on.

use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Longest request.
const LONGEST: usize = 8192;
/// Requests at once.
const AT_ONCE: usize = 32;
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is served.
pub trait Pages: Send + Sync + 'static {
    /// Everything that is measured.
    fn metrics(&self) -> String;
    /// Whether it works at all.
    ///
    /// # Errors
    /// Why not.
    fn health(&self) -> Result<(), String>;
    /// Whether it is of use to anybody yet.
    ///
    /// # Errors
    /// Why not.
    fn readiness(&self) -> Result<(), String>;
}

/// Serves until it is dropped.
pub async fn serve(listener: TcpListener, pages: Arc<impl Pages>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptor is left; there will be.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let pages = Arc::clone(&pages);
        tokio::spawn(async move {
            let _ = timeout(PATIENCE, answer(stream, &*pages)).await;
            drop(place);
        });
    }
}

async fn answer(mut stream: TcpStream, pages: &impl Pages) -> io::Result<()> {
    let mut request = Vec::with_capacity(512);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > LONGEST || stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let say = |result: Result<(), String>| match result {
        Ok(()) => ("200 OK", "ok\n".to_string()),
        Err(why) => ("503 Service Unavailable", format!("{why}\n")),
    };
    let (status, body) = match (method, path) {
        ("GET", "/metrics") => ("200 OK", pages.metrics()),
        ("GET", "/healthz" | "/livez") => say(pages.health()),
        ("GET", "/readyz") => say(pages.readiness()),
        ("GET", _) => ("404 Not Found", "there are /metrics, /healthz and /readyz\n".into()),
        _ => ("405 Method Not Allowed", "only GET\n".into()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
