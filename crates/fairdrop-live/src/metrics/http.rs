//! Just enough of HTTP/1.1 (RFC 9112) to answer GET and HEAD, one request a connection.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The longest head of a request, bytes.
const MOST_BYTES: usize = 8192;

/// A head has to come within this time of the connection.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Header lines of a request at most.
const MOST_HEADERS: usize = 64;

/// What is asked.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// Without what follows a question mark.
    pub path: String,
    /// Only the head of the answer is wanted.
    pub head_only: bool,
    /// The host that the client believes to talk to, without the port.
    pub host: Option<String>,
    /// The `Authorization` header.
    pub authorization: Option<Vec<u8>>,
}

/// A status line's number and words.
pub type Status = (u16, &'static str);

pub const OK: Status = (200, "OK");
pub const BAD_REQUEST: Status = (400, "Bad Request");
pub const UNAUTHORIZED: Status = (401, "Unauthorized");
pub const FORBIDDEN: Status = (403, "Forbidden");
pub const NOT_FOUND: Status = (404, "Not Found");
pub const NOT_ALLOWED: Status = (405, "Method Not Allowed");
pub const TIMEOUT: Status = (408, "Request Timeout");
pub const TOO_LARGE: Status = (431, "Request Header Fields Too Large");
pub const UNAVAILABLE: Status = (503, "Service Unavailable");

/// Sent with every answer: nothing is loaded from elsewhere, cached, framed, or leaked as a referrer.
const ALWAYS: &str = "Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
    Referrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n";

/// A stream with a timeout on reads.
pub trait Timed: Read {
    /// The next reads fail with [`io::ErrorKind::WouldBlock`] or [`io::ErrorKind::TimedOut`] when nothing comes for so long.
    ///
    /// # Errors
    /// The operating system refuses.
    fn wait_at_most(&mut self, time: Duration) -> io::Result<()>;
}

impl Timed for &TcpStream {
    fn wait_at_most(&mut self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))
    }
}

/// Reads one request, which has to be there by `deadline` on the clock `now`.
///
/// # Errors
/// `Ok(Err(status))`: it is answered with that. `Err`: the connection is broken.
pub fn read(
    stream: &mut impl Timed,
    deadline: Instant,
    now: impl Fn() -> Instant,
) -> io::Result<Result<Request, Status>> {
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    loop {
        let left = deadline.saturating_duration_since(now());
        if left.is_zero() {
            return Ok(Err(TIMEOUT));
        }
        stream.wait_at_most(left)?;
        let count = match stream.read(&mut part) {
            Ok(count) => count,
            Err(error) if is_late(&error) => return Ok(Err(TIMEOUT)),
            Err(error) => return Err(error),
        };
        if now() >= deadline {
            return Ok(Err(TIMEOUT));
        }
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&part[..count]);
        // However it comes, the head is within its first bytes, or it is too long.
        if let Some(parsed) = parse(&bytes[..bytes.len().min(MOST_BYTES)]) {
            return Ok(parsed);
        }
        if bytes.len() > MOST_BYTES {
            return Ok(Err(TOO_LARGE));
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// `None`: more has to come.
fn parse(bytes: &[u8]) -> Option<Result<Request, Status>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return None,
        Err(httparse::Error::TooManyHeaders) => return Some(Err(TOO_LARGE)),
        Err(_) => return Some(Err(BAD_REQUEST)),
    }
    let head_only = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Some(Err(NOT_ALLOWED)),
    };
    let path = request.path.unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
    let [Ok(host), Ok(authorization)] = ["Host", "Authorization"].map(|name| only(request.headers, name))
    else {
        return Some(Err(BAD_REQUEST));
    };
    let host = host.and_then(|host| String::from_utf8(host).ok()).map(|host| without_port(&host));
    Some(Ok(Request { path, head_only, host, authorization }))
}

/// The value of the header called `name`, which may be there once: who reads another of two than who stands in between is
/// fooled (RFC 9112, section 3.2).
fn only(headers: &[httparse::Header<'_>], name: &str) -> Result<Option<Vec<u8>>, Status> {
    let mut found = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    match (found.next(), found.next()) {
        (first, None) => Ok(first.map(|header| header.value.to_vec())),
        (_, Some(_)) => Err(BAD_REQUEST),
    }
}

fn without_port(host: &str) -> String {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address.to_owned(),
        None => host.split(':').next().unwrap_or_default().to_owned(),
    }
}

impl Request {
    /// Whether the client knows that it talks to its own machine. A page from elsewhere whose name was pointed here does not
    /// ("DNS rebinding").
    pub fn is_for_this_machine(&self) -> bool {
        self.host.as_deref().is_some_and(|host| {
            host.eq_ignore_ascii_case("localhost")
                || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        })
    }
}

/// Writes the head of an answer; without `length` it goes on until the connection is closed.
///
/// # Errors
/// The connection is broken.
pub fn begin(
    stream: &mut impl Write,
    (number, words): Status,
    content_type: &str,
    length: Option<usize>,
) -> io::Result<()> {
    let length = length.map_or(String::new(), |length| format!("Content-Length: {length}\r\n"));
    let more = match number {
        401 => "WWW-Authenticate: Basic realm=\"fairdropd\", charset=\"UTF-8\"\r\n",
        405 => "Allow: GET, HEAD\r\n",
        _ => "",
    };
    let head =
        format!("HTTP/1.1 {number} {words}\r\nContent-Type: {content_type}\r\n{length}{more}{ALWAYS}\r\n");
    stream.write_all(head.as_bytes())
}

/// Writes a whole answer.
///
/// # Errors
/// The connection is broken.
pub fn answer(
    stream: &mut impl Write,
    status: Status,
    content_type: &str,
    body: &[u8],
    head_only: bool,
) -> io::Result<()> {
    begin(stream, status, content_type, Some(body.len()))?;
    if head_only { Ok(()) } else { stream.write_all(body) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    /// A stream without delays.
    struct AtOnce<'a>(&'a [u8]);

    impl Read for AtOnce<'_> {
        fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
            self.0.read(part)
        }
    }

    impl Timed for AtOnce<'_> {
        fn wait_at_most(&mut self, _: Duration) -> io::Result<()> {
            Ok(())
        }
    }

    fn read_all(bytes: &[u8]) -> io::Result<Result<Request, Status>> {
        let now = Instant::now();
        read(&mut AtOnce(bytes), now + PATIENCE, || now)
    }

    fn asked(text: &str) -> Result<Request, Status> {
        read_all(text.as_bytes()).unwrap()
    }

    /// A byte comes after each `every`, or nothing any more.
    struct Slow<'a> {
        bytes: &'a [u8],
        every: Duration,
        clock: &'a Cell<Instant>,
        left: Duration,
    }

    impl Read for Slow<'_> {
        fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
            let waits = if self.bytes.is_empty() { self.left } else { self.every.min(self.left) };
            self.clock.set(self.clock.get() + waits);
            if self.bytes.is_empty() || self.every > self.left {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.bytes.read(&mut part[..1])
        }
    }

    impl Timed for Slow<'_> {
        fn wait_at_most(&mut self, time: Duration) -> io::Result<()> {
            self.left = time;
            Ok(())
        }
    }

    /// The time is for the whole head, not for each of its bytes.
    #[test]
    fn a_head_has_three_seconds() {
        let head = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let taken = |bytes: &[u8], every| {
            let begun = Instant::now();
            let clock = Cell::new(begun);
            let mut stream = Slow { bytes, every, clock: &clock, left: Duration::ZERO };
            let request = read(&mut stream, begun + PATIENCE, || clock.get()).unwrap();
            (request, clock.get() - begun)
        };
        let (request, time) = taken(head, Duration::from_millis(50));
        assert!(request.is_ok() && time < PATIENCE, "{request:?} after {time:?}");
        for (bytes, every) in [(&head[..], 1000), (head, 90), (&head[..9], 1), (b"", 1)] {
            let late = taken(bytes, Duration::from_millis(every));
            assert_eq!(late, (Err(TIMEOUT), PATIENCE), "a byte every {every} ms");
        }
    }

    #[test]
    fn a_header_that_decides_is_there_once() {
        for twice in [
            "Host: localhost\r\nHost: localhost",
            "host: a\r\nHOST: b",
            "Authorization: x\r\nauthorization: y",
        ] {
            assert_eq!(asked(&format!("GET / HTTP/1.1\r\n{twice}\r\n\r\n")), Err(BAD_REQUEST), "{twice}");
        }
        assert!(asked("GET / HTTP/1.1\r\nHost: a\r\nX: b\r\nx: c\r\n\r\n").is_ok());
    }

    #[test]
    fn requests() {
        let request =
            asked("GET /api?x=1 HTTP/1.1\r\nhost: [::1]:9000\r\nAuthorization: Bearer x\r\n\r\n").unwrap();
        assert_eq!((request.path.as_str(), request.head_only), ("/api", false));
        assert_eq!(
            (request.host.as_deref(), request.authorization.as_deref()),
            (Some("::1"), Some(&b"Bearer x"[..]))
        );
        assert!(asked("HEAD / HTTP/1.1\r\n\r\n").unwrap().head_only);
        assert_eq!(asked("POST / HTTP/1.1\r\n\r\n"), Err(NOT_ALLOWED));
        assert_eq!(asked("nonsense\r\n\r\n"), Err(BAD_REQUEST));
        let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(20_000));
        assert_eq!(asked(&long), Err(TOO_LARGE));
        // A head of 8,192 bytes, and of one more.
        for (most, expected) in [(MOST_BYTES, None), (MOST_BYTES + 1, Some(TOO_LARGE))] {
            let ends = "GET / HTTP/1.1\r\nx: ".len() + "\r\n\r\n".len();
            let head = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(most - ends));
            assert_eq!(asked(&head).err(), expected, "{most} bytes");
        }
        assert_eq!(asked(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(100))), Err(TOO_LARGE));
        assert!(read_all(b"GET / HTTP/1.1\r\n").is_err(), "it ends in the middle");
    }

    #[test]
    fn whom_the_client_believes_to_talk_to() {
        for (host, own) in [
            ("localhost:9000", true),
            ("127.0.0.1", true),
            ("127.8.8.8:80", true),
            ("[::1]:80", true),
            ("evil.example:9000", false),
            ("192.0.2.1", false),
            ("127.0.0.1.evil.example", false),
        ] {
            let request = asked(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")).unwrap();
            assert_eq!(request.is_for_this_machine(), own, "{host}");
        }
        assert!(!asked("GET / HTTP/1.0\r\n\r\n").unwrap().is_for_this_machine());
    }

    proptest! {
        #[test]
        fn whatever_comes_is_answered_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = read_all(&bytes);
            let mut begun = b"GET / HTTP/1.1\r\n".to_vec();
            begun.extend(bytes);
            begun.extend(b"\r\n\r\n");
            let _ = read_all(&begun);
        }
    }
}
