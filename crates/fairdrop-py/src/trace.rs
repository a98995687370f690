//! Event traces on disk: for each link with a queue a Parquet file of all events, and a pcap file each of what arrived
//! and what departed. Events are written as they come; what is held in memory does not grow with the run.

use crate::columns::Columns;
use crate::document::temporary;
use fairdrop::DropCause;
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::trace::{Happened, Pcap, TraceEvent, TraceSink};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Events that are held before they are written.
const BATCH: usize = 1 << 15;

/// The files of one link. They get their names when they are complete.
pub struct LinkFiles {
    names: Arc<[String]>,
    held: Vec<TraceEvent>,
    table: Option<ArrowWriter<File>>,
    arrivals: Pcap<BufWriter<File>>,
    departures: Pcap<BufWriter<File>>,
    /// Where each file is, and where it belongs.
    places: [(PathBuf, PathBuf); 3],
}

/// The files of all links of a run in `directory`, by number of the link; none for links without a queue.
pub fn create(scenario: &Scenario, seed: u64, directory: &Path) -> io::Result<Vec<Option<LinkFiles>>> {
    let directory = directory.join(format!("{}-{seed}", scenario.queue.discipline));
    fs::create_dir_all(&directory)?;
    let flows =
        scenario.groups.iter().flat_map(|group| (0..group.count).map(|i| format!("{}[{i}]", group.name)));
    let names: Arc<[String]> = flows.collect();
    let files = scenario.links.iter().enumerate().map(|(number, link)| {
        let queue = scenario.queue_of(link);
        queue
            .map(|_| LinkFiles::new(&directory, &file_name(number, &link.name), Arc::clone(&names)))
            .transpose()
    });
    files.collect()
}

/// The name of a link where it can be part of a file's name, else its number.
fn file_name(number: usize, name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.chars().all(plain) && !name.starts_with('.') { name.to_owned() } else { format!("link-{number}") }
}

impl LinkFiles {
    fn new(directory: &Path, link: &str, names: Arc<[String]>) -> io::Result<Self> {
        let places = ["parquet", "arrivals.pcap", "departures.pcap"].map(|kind| {
            let place = directory.join(format!("{link}.{kind}"));
            (temporary(&place), place)
        });
        let [table, arrivals, departures] = &places;
        let pcap = |path: &Path, wanted| Pcap::new(BufWriter::new(File::create(path)?), wanted);
        let arrivals = pcap(&arrivals.0, Happened::Arrive)?;
        let departures = pcap(&departures.0, Happened::Depart)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let empty = rows(&names, &[])?;
        let table = ArrowWriter::try_new(File::create(&table.0)?, empty.schema(), Some(properties))?;
        Ok(Self { names, held: Vec::with_capacity(BATCH), table: Some(table), arrivals, departures, places })
    }

    /// Writes what is held as a row group of its own.
    fn write_held(&mut self) -> io::Result<()> {
        if let Some(table) = &mut self.table {
            table.write(&rows(&self.names, &self.held)?)?;
            table.flush()?;
        }
        self.held.clear();
        Ok(())
    }
}

impl TraceSink for LinkFiles {
    fn event(&mut self, event: &TraceEvent) -> io::Result<()> {
        self.arrivals.event(event)?;
        self.departures.event(event)?;
        self.held.push(*event);
        if self.held.len() < BATCH { Ok(()) } else { self.write_held() }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.write_held()?;
        if let Some(table) = self.table.take() {
            table.close()?;
        }
        self.arrivals.finish()?;
        self.departures.finish()?;
        self.places.iter().try_for_each(|(from, to)| fs::rename(from, to))
    }
}

impl Drop for LinkFiles {
    fn drop(&mut self) {
        // Those that have got their names are no longer there; half a file is of no use.
        for (from, _) in &self.places {
            let _ = fs::remove_file(from);
        }
    }
}

fn rows(names: &[String], events: &[TraceEvent]) -> io::Result<arrow_array::RecordBatch> {
    let cause = |event: &TraceEvent| match event.happened {
        Happened::Drop(cause) => Some(DropCause::name(cause)),
        _ => None,
    };
    let flow = |event: &TraceEvent| names.get(event.meta.flow as usize).map_or("", String::as_str);
    Columns::default()
        .count("time_ns", events.iter().map(|event| event.time.ns()))
        .text("event", events.iter().map(|event| event.happened.name()))
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
