//! What goes on beside a link: metrics, control, a recording. Whatever can be refused is refused before anything starts.

use crate::cli::ServiceArgs;
use crate::config::{DIRECTIONS, TwoWay};
use crate::control::{self, Steering};
use crate::daemon::Running;
use crate::host::Flows;
use crate::metrics::{self, Sampler, Token};
use crate::os::now;
use crate::record::{self, RING_BYTES, Recorder, Rotation, Writer};
use fairdrop_capture::LinkType;
use rtrb::Consumer;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// Who looks on in each direction.
pub type Watches = (Flows, Option<Recorder>);

/// What is had, before the link is started.
pub struct Prepared {
    name: String,
    link: TwoWay,
    metrics: Option<(TcpListener, Option<Token>)>,
    control: Option<control::Socket>,
    record: Option<Record>,
}

/// A recording that is about to begin.
struct Record {
    files: Rotation,
    file_bytes: u64,
    link_type: Option<LinkType>,
    rings: [Option<Consumer<u8>>; DIRECTIONS.len()],
}

/// What runs beside a link, until it is dropped: after the link has been stopped, so that its end is recorded.
pub struct Services {
    // In the order in which they end: nobody asks before the link does, and the recording is last.
    _control: Option<control::Server>,
    metrics: Option<metrics::Server>,
    _sampler: Option<Sampler>,
    _record: Option<Writer>,
}

impl Prepared {
    /// Takes addresses, sockets and files that `args` ask for, for the link called `name`.
    ///
    /// # Errors
    /// One of them cannot be had.
    pub fn new(name: &str, args: &ServiceArgs, link: &TwoWay) -> Result<Self, String> {
        let token = args.token_file.as_deref().map(Token::read).transpose()?;
        let metrics = match args.metrics {
            Some(address) => Some((metrics::bind(address, token.as_ref())?, token)),
            None => None,
        };
        let control = args.control.as_deref().map(control::Socket::bind).transpose()?;
        let record = match &args.record {
            Some(path) => Some(Record {
                files: Rotation::open(path, args.record_files)?,
                file_bytes: args.record_size,
                link_type: None,
                rings: [const { None }; DIRECTIONS.len()],
            }),
            None => None,
        };
        Ok(Self { name: name.into(), link: link.clone(), metrics, control, record })
    }

    /// Bytes of memory beside the frame buffers, each of `frame_bytes`.
    pub fn memory(&self, frame_bytes: usize) -> usize {
        self.record.as_ref().map_or(0, |_| DIRECTIONS.len() * record::memory(RING_BYTES, frame_bytes))
    }

    /// Who looks on in the direction called `direction`, at frames of `link_type`.
    pub fn watches(&mut self, direction: &str, link_type: LinkType) -> Watches {
        let number = DIRECTIONS.iter().position(|&name| name == direction).unwrap_or_default();
        let flows = Flows::new(link_type, self.link.directions()[number].flow_key, now());
        let recorder = self.record.as_mut().map(|record| {
            let (recorder, ring) = Recorder::new(RING_BYTES);
            record.rings[number] = Some(ring);
            record.link_type = Some(link_type);
            recorder
        });
        (flows, recorder)
    }

    /// Begins, once both directions run. Says on standard error where metrics are served.
    ///
    /// # Errors
    /// A direction is missing or has ended, or the operating system gives no thread.
    pub fn serve<'a>(self, running: impl IntoIterator<Item = &'a Running>) -> io::Result<Services> {
        let running: Vec<_> = running.into_iter().collect();
        let mailbox_of = |name| {
            let found = running.iter().find(|direction| direction.name == name);
            found.map(|direction| direction.mailbox.clone())
        };
        let [Some(up), Some(down)] = DIRECTIONS.map(mailbox_of) else {
            return Err(io::Error::other("a direction of the link is missing"));
        };
        let mailboxes = [up, down];
        let Self { name, link, metrics, control, record } = self;
        let record = match record {
            Some(Record { files, file_bytes, link_type: Some(link_type), rings: [Some(up), Some(down)] }) => {
                Some(Writer::start(files, [up, down], link_type, file_bytes)?)
            }
            _ => None,
        };
        let sampler = match &metrics {
            Some(_) => Some(Sampler::start(&name, mailboxes.clone())?),
            None => None,
        };
        let metrics = match (metrics, &sampler) {
            (Some((listener, token)), Some(sampler)) => {
                Some(metrics::Server::start(listener, token, sampler.view())?)
            }
            _ => None,
        };
        if let Some(server) = &metrics {
            crate::say!("fairdropd: metrics at http://{}/", server.address());
        }
        let control = match control {
            Some(socket) => {
                let steering = Steering::new(&name, link, mailboxes);
                Some(control::Server::start(socket, Arc::new(Mutex::new(steering)))?)
            }
            None => None,
        };
        Ok(Services { _control: control, metrics, _sampler: sampler, _record: record })
    }
}

impl Services {
    /// Where metrics are served.
    pub fn metrics_address(&self) -> Option<std::net::SocketAddr> {
        self.metrics.as_ref().map(metrics::Server::address)
    }
}
