//! The receiving side of a TCP connection.
//!
//! ```
//! use fairdrop_tcp::receiver::Receiver;
//!
//! let mut receiver = Receiver::default();
//! receiver.take(0, false);
//! receiver.take(2, false);
//! assert_eq!((receiver.next, receiver.has_gap()), (1, true));
//! ```

mod blocks;
mod linux;
mod linux_state;
mod received;

pub use blocks::Blocks;
pub use received::{Reaction, Receiver};
