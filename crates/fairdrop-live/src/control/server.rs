//! Those who listen at the control socket.

use crate::control::socket::may_steer;
use crate::control::{Request, Socket, Steering};
use crate::os::{Guest, Guests};
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Connections at a time. Where there are as many, the one that has been idle for longest gives way.
const MOST_CONNECTIONS: usize = 8;

/// The longest request, bytes.
const MOST_BYTES: u64 = 1 << 16;

/// A client that is silent for this long is left.
const PATIENCE: Duration = Duration::from_secs(60);

const NOT_YOURS: &str = "only the user that runs this fairdropd, and root, may steer it";
const BUSY: &str = "busy: it is answering as many others as it can; ask again";

/// Answers until it is dropped.
pub struct Server {
    socket: Arc<Socket>,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Answers at `socket`.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn start(socket: Socket, steering: Arc<Mutex<Steering>>) -> io::Result<Self> {
        let (socket, ending) = (Arc::new(socket), Arc::new(AtomicBool::new(false)));
        let (at, until) = (Arc::clone(&socket), Arc::clone(&ending));
        let listen = move || listen(&at, &until, &steering);
        let thread = thread::Builder::new().name("fairdrop-control".into()).spawn(listen)?;
        Ok(Self { socket, ending, thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        if UnixStream::connect(self.socket.path()).is_ok()
            && let Some(thread) = self.thread.take()
        {
            // It has not panicked, and if it had there would be nothing to do.
            let _ = thread.join();
        }
    }
}

fn listen(socket: &Socket, ending: &AtomicBool, steering: &Arc<Mutex<Steering>>) {
    let mut guests = Guests::new(MOST_CONNECTIONS);
    for stream in socket.listener.incoming() {
        if ending.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            // No descriptors are left, for instance: not to be tried again at once.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        // Who is refused takes no place. The answer fits into the socket's buffer.
        if !may_steer(&stream).unwrap_or(false) {
            let _ = say(&stream, &refusal(NOT_YOURS));
            continue;
        }
        let guest = match guests.admit(stream) {
            Ok(guest) => guest,
            Err(stream) => {
                let _ = say(&stream, &refusal(BUSY));
                continue;
            }
        };
        let steering = Arc::clone(steering);
        let talk = move || {
            // A client that is gone has no use for an error.
            let _ = talk(&guest, &steering);
        };
        // Without a thread the connection is closed, which the client says.
        let _ = thread::Builder::new().name("fairdrop-control".into()).spawn(talk);
    }
}

fn talk(guest: &Guest<UnixStream>, steering: &Mutex<Steering>) -> io::Result<()> {
    let stream = guest.connection();
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let read = (&mut reader).take(MOST_BYTES).read_until(b'\n', &mut line)?;
        // Who has given way has no connection.
        if read == 0 || !guest.is_answered() {
            return Ok(());
        }
        if read as u64 == MOST_BYTES {
            return say(stream, &refusal("the request is longer than 65,535 bytes"));
        }
        let answer = match Request::read(&line) {
            Ok(request) => {
                let mut steering = steering.lock().unwrap_or_else(PoisonError::into_inner);
                steering.answer(&request).map_or_else(|why| refusal(&why), accepted)
            }
            Err(why) => refusal(&why),
        };
        say(stream, &answer)?;
        guest.is_idle();
    }
}

fn accepted(mut answer: Value) -> Value {
    if let Some(object) = answer.as_object_mut() {
        object.shift_insert(0, "ok".into(), Value::Bool(true));
    }
    answer
}

fn refusal(why: &str) -> Value {
    json!({ "ok": false, "error": why })
}

fn say(mut stream: impl Write, answer: &Value) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    stream.write_all(&line)
}
