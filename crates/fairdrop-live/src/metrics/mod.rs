//! What operators look at: Prometheus, JSON, a stream of samples, and a page that draws them. One small server, which
//! only ever answers GET, on a bounded number of connections.

mod http;
mod prometheus;
mod sampler;
mod server;
mod token;

pub use http::{Request, Status, Timed, read as read_request};
pub use sampler::Sampler;
pub use server::{Server, bind};
pub use token::Token;
