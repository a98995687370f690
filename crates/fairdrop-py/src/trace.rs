//! Event traces on disk: for each link with a queue a Parquet file of all events, and a pcap file each of what arrived
//! and what departed. Events are written as they come; what is held in memory does not grow with the run.

use crate::columns::Columns;
use crate::files::{FileError, Staged};
use fairdrop::DropCause;
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::trace::{PacketEvent, Pcap, TraceEvent, TraceSink};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Events that are held before they are written.
const BATCH: usize = 1 << 15;

/// What the files of a link are called behind its name.
const KINDS: [&str; 3] = ["parquet", "arrivals.pcap", "departures.pcap"];

/// The files of a run. They come to their place together, when the run is finished.
pub struct RunFiles {
    staged: Staged,
    /// By number of the link; none for links without a queue.
    pub links: Vec<Option<LinkFiles>>,
}

/// The files of one link.
pub struct LinkFiles {
    names: Arc<[String]>,
    held: Vec<TraceEvent>,
    table: Option<ArrowWriter<File>>,
    arrivals: Pcap<BufWriter<File>>,
    departures: Pcap<BufWriter<File>>,
    /// Where each file belongs, for messages.
    places: [PathBuf; 3],
}

impl RunFiles {
    /// The files of all links of a run, in a folder of its own in `directory`.
    pub fn create(scenario: &Scenario, seed: u64, directory: &Path) -> Result<Self, FileError> {
        let directory = directory.join(format!("{}-{seed}", scenario.queue.discipline));
        let staged = Staged::new(&directory, |name| KINDS.iter().any(|kind| name.ends_with(kind)))?;
        let flows =
            scenario.groups.iter().flat_map(|group| (0..group.count).map(|i| format!("{}[{i}]", group.name)));
        let names: Arc<[String]> = flows.collect();
        let files = scenario.links.iter().enumerate().map(|(number, link)| {
            let queue = scenario.queue_of(link);
            queue
                .map(|_| LinkFiles::new(&staged, &file_name(number, &link.name), Arc::clone(&names)))
                .transpose()
        });
        let links = files.collect::<Result<_, _>>()?;
        Ok(Self { staged, links })
    }

    /// Gives the files their names.
    pub fn commit(self) -> Result<(), FileError> {
        self.staged.commit(&[], None)
    }
}

/// The name of a link where it can be part of a file's name, else its number.
fn file_name(number: usize, name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.chars().all(plain) && !name.starts_with('.') { name.to_owned() } else { format!("link-{number}") }
}

impl LinkFiles {
    fn new(staged: &Staged, link: &str, names: Arc<[String]>) -> Result<Self, FileError> {
        let files = KINDS.map(|kind| format!("{link}.{kind}"));
        let [table, arrivals, departures] = &files;
        let failed = |name: &str, error: io::Error| FileError::new(&staged.place(name), error);
        let create = |name: &str| File::create(staged.aside(name));
        let pcap = |name: &str, wanted| {
            create(name)
                .and_then(|file| Pcap::new(BufWriter::new(file), wanted))
                .map_err(|error| failed(name, error))
        };
        let arrivals = pcap(arrivals, PacketEvent::Arrive)?;
        let departures = pcap(departures, PacketEvent::Depart)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let open = || -> io::Result<_> {
            let empty = rows(&names, &[])?;
            Ok(ArrowWriter::try_new(create(table)?, empty.schema(), Some(properties))?)
        };
        let table = Some(open().map_err(|error| failed(table, error))?);
        let places = files.map(|name| staged.place(&name));
        Ok(Self { names, held: Vec::with_capacity(BATCH), table, arrivals, departures, places })
    }

    /// Writes what is held as a row group of its own.
    fn write_held(&mut self) -> io::Result<()> {
        let write = |table: &mut ArrowWriter<File>, batch: &_| -> io::Result<()> {
            table.write(batch)?;
            Ok(table.flush()?)
        };
        if let Some(table) = &mut self.table {
            let batch = rows(&self.names, &self.held)?;
            write(table, &batch).map_err(about(&self.places[0]))?;
        }
        self.held.clear();
        Ok(())
    }
}

/// Puts the name of the file to an error.
fn about(place: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| FileError::new(place, error).into()
}

impl TraceSink for LinkFiles {
    fn event(&mut self, event: &TraceEvent) -> io::Result<()> {
        self.arrivals.event(event).map_err(about(&self.places[1]))?;
        self.departures.event(event).map_err(about(&self.places[2]))?;
        self.held.push(*event);
        if self.held.len() < BATCH { Ok(()) } else { self.write_held() }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.write_held()?;
        if let Some(table) = self.table.take() {
            table.close().map_err(|error| about(&self.places[0])(error.into()))?;
        }
        self.arrivals.finish().map_err(about(&self.places[1]))?;
        self.departures.finish().map_err(about(&self.places[2]))
    }
}

fn rows(names: &[String], events: &[TraceEvent]) -> io::Result<arrow_array::RecordBatch> {
    let cause = |event: &TraceEvent| match event.event {
        PacketEvent::Drop(cause) => Some(DropCause::name(cause)),
        PacketEvent::DropFor(name) => Some(name),
        _ => None,
    };
    let flow = |event: &TraceEvent| names.get(event.meta.flow as usize).map_or("", String::as_str);
    Columns::default()
        .count("time_ns", events.iter().map(|event| event.time.ns()))
        .text("event", events.iter().map(|event| event.event.name()))
        .maybe_text("cause", events.iter().map(cause))
        .count("packet", events.iter().map(|event| event.number))
        .text("flow", events.iter().map(flow))
        .text("kind", events.iter().map(|event| event.about.kind.name()))
        .count("seq", events.iter().map(|event| u64::from(event.about.seq)))
        .count("bytes", events.iter().map(|event| u64::from(event.meta.len)))
        .count("class", events.iter().map(|event| u64::from(event.meta.class)))
        .count("ecn", events.iter().map(|event| event.meta.ecn as u64))
        .count("waiting", events.iter().map(|event| u64::from(event.waiting)))
        .finish()
        .map_err(io::Error::other)
}
