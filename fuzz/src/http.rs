//! The head of a request to the page of a live link.

use fairdrop_live::metrics::{Request, Status, Timed, read_request};
use std::io::{self, Read};
use std::time::{Duration, Instant};

/// Bytes that come in pieces of `most` bytes, without taking time.
struct Pieces<'a> {
    bytes: &'a [u8],
    most: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        let most = part.len().min(self.most);
        self.bytes.read(&mut part[..most])
    }
}

impl Timed for Pieces<'_> {
    fn wait_at_most(&mut self, _: Duration) -> io::Result<()> {
        Ok(())
    }
}

fn read(bytes: &[u8], most: usize) -> Result<Result<Request, Status>, io::ErrorKind> {
    let now = Instant::now();
    let read = read_request(&mut Pieces { bytes, most }, now + Duration::from_secs(1), || now);
    read.map_err(|error| error.kind())
}

/// Reads a head at once and in pieces, which the first byte makes longer or shorter: it is the same head. The headers that
/// decide are in it once at most, by the eye of a reader of lines.
pub fn http(data: &[u8]) {
    let Some((&step, head)) = data.split_first() else { return };
    let whole = read(head, usize::MAX);
    assert_eq!(whole, read(head, 1 + usize::from(step)));
    let Ok(Ok(request)) = whole else { return };
    let lines = head.split(|&byte| byte == b'\n').skip_while(|line| line.iter().all(u8::is_ascii_whitespace));
    let headers: Vec<_> = lines.skip(1).take_while(|line| !matches!(*line, [] | [b'\r'])).collect();
    let of = |name: &str| {
        let begins = |line: &&&[u8]| {
            line.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name.as_bytes()))
        };
        headers.iter().filter(begins).count()
    };
    let [hosts, tokens] = ["host:", "authorization:"].map(of);
    assert!(hosts <= 1 && tokens == usize::from(request.authorization.is_some()));
    assert!(!request.is_for_this_machine() || hosts == 1);
    assert!(!request.path.contains(['?', ' ', '\r', '\n']));
}
