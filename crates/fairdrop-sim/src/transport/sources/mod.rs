//! Open-loop sources: they send whatever is lost, like UDP. Each law is in its own file, with its settings.

mod arrivals;
mod burst;
mod cbr;
mod datagram;
mod next;
mod on_off;
mod poisson;
mod source;
mod trace;

pub use cbr::{CbrConfig, Pacer};
pub use datagram::Datagram;
pub use next::Next;
pub use source::{Flow, Source, SourceConfig, infos};
