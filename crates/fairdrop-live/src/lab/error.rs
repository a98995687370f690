//! Why there is no live run.

use fairdrop_sim::RunError;
use std::any::Any;
use std::io;
use thiserror::Error;

/// Why there is no live run.
#[derive(Debug, Error)]
pub enum LabError {
    /// Real hosts cannot do what the scenario asks for; a line each.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// The network of the scenario cannot be made.
    #[error(transparent)]
    Network(#[from] RunError),
    /// The machine lacks something.
    #[error("{what}: {error}; valid: {help}")]
    Machine {
        /// What.
        what: &'static str,
        /// What the operating system says.
        error: io::Error,
        /// What to do.
        help: &'static str,
    },
    /// A setting is refused.
    #[error("{what}: {why}")]
    Setting {
        /// Which.
        what: String,
        /// Why.
        why: String,
    },
    /// Something in this program that must not happen did.
    #[error("the run failed: {who} panicked: {message}")]
    Panicked {
        /// Which thread.
        who: &'static str,
        /// Its message.
        message: String,
    },
    /// It failed while it ran.
    #[error("the run failed: {0}")]
    Failed(#[from] io::Error),
}

impl LabError {
    /// `who` panicked, with what `catch_unwind` or `join` gave.
    pub fn panicked(who: &'static str, payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Self::Panicked { who, message: text.unwrap_or("without a message").into() }
    }
}
