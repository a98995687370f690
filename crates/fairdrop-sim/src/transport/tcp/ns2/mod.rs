//! Senders as the agents of ns-2 (2.35), where they are no RFC's with other settings: `Sack1` and `Vegas`, each whole. Names
//! of variables are those of ns-2's `tcp/tcp.cc`, `tcp-sack1.cc`, `scoreboard-rq.cc` and `tcp-vegas.cc`.

mod config;

pub use config::Ns2Config;
