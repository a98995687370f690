//! The server: a thread for each of a bounded number of connections.

use crate::metrics::http::{self, Request, Status};
use crate::metrics::sampler::{Next, View};
use crate::metrics::{Token, prometheus};
use crate::os::{Guest, Guests, Lease};
use std::io::{self, BufWriter, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Connections at a time, and of these streams of samples. Where there are as many, the oldest that has not asked yet, or not with
/// the token, gives way.
const MOST_CONNECTIONS: usize = 32;
const MOST_STREAMS: usize = 24;

/// A client that takes nothing for this long is left.
const PATIENCE: Duration = Duration::from_secs(10);

/// A wrong token is answered after this time, unless the connection gives way before.
const AFTER_WRONG_TOKEN: Duration = Duration::from_secs(1);

const PAGE: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/page.js");
const CHARTS: &str = include_str!("page/charts.js");

/// Takes the address.
///
/// # Errors
/// It is in use or not of this machine, or others could connect and there is no token.
pub fn bind(address: SocketAddr, token: Option<&Token>) -> Result<TcpListener, String> {
    if !address.ip().is_loopback() && token.is_none() {
        return Err(format!(
            "--metrics {address} is open to other machines and there is no token; valid: an address of this machine alone \
             (127.0.0.1:{}), or --token-file FILE beside it",
            address.port()
        ));
    }
    TcpListener::bind(address).map_err(|error| {
        format!("--metrics {address}: {error}; valid: a free port at an address of this machine; port 0 takes any free one")
    })
}

/// Answers until it is dropped.
pub struct Server {
    address: SocketAddr,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The time, as it passes for those who wait for a request.
type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// What every connection knows.
struct House {
    clock: Clock,
    view: View,
    token: Option<Token>,
    ending: Arc<AtomicBool>,
    streams: Arc<AtomicUsize>,
}

impl Server {
    /// Answers at `listener`.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn start(listener: TcpListener, token: Option<Token>, view: View) -> io::Result<Self> {
        Self::start_at(listener, token, view, Arc::new(Instant::now))
    }

    fn start_at(listener: TcpListener, token: Option<Token>, view: View, clock: Clock) -> io::Result<Self> {
        let (address, ending) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let streams = Lease::places(MOST_STREAMS);
        let house = House { clock, view, token, ending: Arc::clone(&ending), streams };
        let listen = move || listen(&listener, &Arc::new(house));
        let thread = thread::Builder::new().name("fairdrop-metrics".into()).spawn(listen)?;
        Ok(Self { address, ending, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        let mut own = self.address;
        if own.ip().is_unspecified() {
            own.set_ip(if own.is_ipv4() {
                [127, 0, 0, 1].into()
            } else {
                std::net::Ipv6Addr::LOCALHOST.into()
            });
        }
        if TcpStream::connect_timeout(&own, PATIENCE).is_ok()
            && let Some(thread) = self.thread.take()
        {
            // It has not panicked, and if it had there would be nothing to do.
            let _ = thread.join();
        }
    }
}

fn listen(listener: &TcpListener, house: &Arc<House>) {
    let mut guests = Guests::new(MOST_CONNECTIONS);
    for stream in listener.incoming() {
        if house.ending.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            // No descriptors are left, for instance: not to be tried again at once.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let guest = match guests.admit(stream) {
            Ok(guest) => guest,
            Err(mut stream) => {
                // It fits into the socket's buffer; if not, the client sees that the connection is closed.
                let _ = plain(&mut stream, http::UNAVAILABLE, "too many connections", false);
                continue;
            }
        };
        let (house, deadline) = (Arc::clone(house), (house.clock)() + http::PATIENCE);
        let serve = move || {
            // A client that is gone has no use for an error.
            let _ = house.serve(&guest, deadline);
        };
        // Without a thread the connection is closed, which the client sees.
        let _ = thread::Builder::new().name("fairdrop-metrics".into()).spawn(serve);
    }
}

fn plain(stream: &mut impl Write, status: Status, text: &str, head_only: bool) -> io::Result<()> {
    http::answer(stream, status, "text/plain; charset=utf-8", format!("{text}\n").as_bytes(), head_only)
}

impl House {
    fn serve(&self, guest: &Guest<TcpStream>, deadline: Instant) -> io::Result<()> {
        let stream = &mut guest.connection();
        stream.set_write_timeout(Some(PATIENCE))?;
        let request = match http::read(stream, deadline, &*self.clock)? {
            Ok(request) => request,
            Err(status) => return plain(stream, status, status.1, false),
        };
        match &self.token {
            Some(token) if !request.authorization.as_ref().is_some_and(|given| token.is_in(given)) => {
                if request.authorization.is_some() {
                    guest.linger(AFTER_WRONG_TOKEN);
                }
                plain(stream, http::UNAUTHORIZED, "a token is needed: as bearer token, or as password", false)
            }
            None if !request.is_for_this_machine() => {
                plain(stream, http::FORBIDDEN, "valid hosts: localhost, 127.0.0.1, [::1]", false)
            }
            // Who has given way in the meantime has no connection.
            _ if !guest.is_answered() => Ok(()),
            _ => self.answer(stream, &request),
        }
    }

    fn answer(&self, stream: &mut &TcpStream, request: &Request) -> io::Result<()> {
        let mut whole = |content_type: &str, body: &str| {
            http::answer(stream, http::OK, content_type, body.as_bytes(), request.head_only)
        };
        match request.path.as_str() {
            "/" => whole("text/html; charset=utf-8", PAGE),
            "/style.css" => whole("text/css; charset=utf-8", STYLE),
            "/page.js" => whole("text/javascript; charset=utf-8", SCRIPT),
            "/charts.js" => whole("text/javascript; charset=utf-8", CHARTS),
            "/metrics" => whole(prometheus::CONTENT_TYPE, &self.view.prometheus()),
            "/api" => whole("application/json", &self.view.newest()),
            "/events" => self.stream(stream, request.head_only),
            _ => plain(stream, http::NOT_FOUND, "valid: /, /metrics, /api, /events", request.head_only),
        }
    }

    /// Server-sent events: the history, then each new sample.
    fn stream(&self, stream: &mut &TcpStream, head_only: bool) -> io::Result<()> {
        let Some(_place) = Lease::take(&self.streams) else {
            return plain(stream, http::UNAVAILABLE, "too many streams", head_only);
        };
        let mut stream = BufWriter::new(stream);
        http::begin(&mut stream, http::OK, "text/event-stream", None)?;
        if head_only {
            return stream.flush();
        }
        let (mut seen, history) = self.view.history();
        write!(stream, "event: history\ndata: {history}\n\n")?;
        write!(stream, "event: sample\nid: {seen}\ndata: {}\n\n", self.view.newest())?;
        stream.flush()?;
        while !self.ending.load(Ordering::Relaxed) {
            match self.view.after(seen, PATIENCE) {
                Next::Sample(number, sample) => {
                    seen = number;
                    write!(stream, "event: sample\nid: {number}\ndata: {sample}\n\n")?;
                }
                Next::Nothing => stream.write_all(b": still here\n\n")?,
                Next::Ended => break,
            }
            stream.flush()?;
        }
        stream.write_all(b"event: ended\ndata: {}\n\n")?;
        stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::sync::Mutex;

    /// A server with a clock that only the test moves.
    struct Rig {
        server: Server,
        clock: Arc<Mutex<Instant>>,
    }

    impl Rig {
        fn start() -> Self {
            let listener = bind(([127, 0, 0, 1], 0).into(), None).unwrap();
            let clock = Arc::new(Mutex::new(Instant::now()));
            let of_server = Arc::clone(&clock);
            let now: Clock = Arc::new(move || *of_server.lock().unwrap());
            Self { server: Server::start_at(listener, None, View::without_samples(), now).unwrap(), clock }
        }

        /// A connection that has sent `text`.
        fn sent(&self, text: &str) -> TcpStream {
            let mut stream = TcpStream::connect(self.server.address()).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            stream
        }

        fn pass(&self, time: Duration) {
            *self.clock.lock().unwrap() += time;
        }
    }

    fn answer(mut stream: TcpStream) -> String {
        let mut text = String::new();
        // A connection that has given way may end with a reset.
        let _ = stream.read_to_string(&mut text);
        text
    }

    const WHOLE: &str = "GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n";

    /// Each of these slow ones was let in before the next; all but the last are gone, and who asks is answered.
    #[test]
    fn slow_connections_starve_nobody() {
        let rig = Rig::start();
        let mut slow: Vec<_> = (0..200).map(|_| rig.sent("GET / HT")).collect();
        assert!(answer(rig.sent(WHOLE)).starts_with("HTTP/1.1 200"));
        let kept = slow.split_off(200 - MOST_CONNECTIONS + 1);
        for gone in slow {
            assert_eq!(answer(gone), "", "it has given way");
        }
        for mut stream in kept {
            stream.write_all(b"TP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            assert!(answer(stream).starts_with("HTTP/1.1 200"), "there is room for it");
        }
    }

    /// Three seconds are for the whole head: who sends a byte now and then has no more.
    #[test]
    fn a_head_that_comes_too_slowly_is_refused() {
        let rig = Rig::start();
        let [mut slow, mut slower] = [rig.sent("GET /style"), rig.sent("GET /style")];
        // Connections are let in one after the other: those two have been.
        assert!(answer(rig.sent(WHOLE)).starts_with("HTTP/1.1 200"));
        let (nearly, rest) = (http::PATIENCE * 9 / 10, http::PATIENCE / 10);
        rig.pass(nearly);
        slow.write_all(b".css HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert!(answer(slow).starts_with("HTTP/1.1 200"));
        rig.pass(rest);
        slower.write_all(b".").unwrap();
        assert!(answer(slower).starts_with("HTTP/1.1 408"));
    }
}
