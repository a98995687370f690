//! Steering while the link runs: a Unix socket, one JSON object a line in each direction.

mod client;
mod server;
mod socket;
mod spread;
mod steering;

pub use client::{CtlArgs, CtlCommand, ctl};
pub use server::Server;
pub use socket::{Socket, default_path};
pub use steering::Steering;

use crate::host::Report;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// How it is.
    Show,
    /// Change settings, all of them or none.
    Set {
        /// `path=value`, as on the command line.
        settings: Vec<String>,
        /// Only this direction.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        direction: Option<String>,
    },
}

impl Request {
    /// Reads a line.
    ///
    /// # Errors
    /// It is none.
    pub fn read(line: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|error| {
            format!("{error}; valid: one JSON object a line, for example {{\"do\": \"show\"}}")
        })
    }
}

/// How a link is: the answer to [`Request::Show`].
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// Its name.
    pub link: String,
    /// Its description as it is now, in the format of a link's file.
    pub settings: String,
    /// Each direction.
    pub directions: BTreeMap<&'static str, Report>,
}

/// What was changed: the answer to [`Request::Set`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The settings, each with the direction that it was made in.
    pub changed: Vec<String>,
    /// What one should know of the new values before believing results.
    pub warnings: Vec<String>,
}
