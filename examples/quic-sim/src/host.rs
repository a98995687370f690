//! A host that speaks QUIC, without input, output or a clock of its own.

use crate::bottleneck::Datagram;
use bytes::BytesMut;
use quinn_proto::rustls::RootCertStore;
use quinn_proto::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    ServerConfig, StreamId, TransportConfig, VarInt,
};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// A certificate of the server, which clients trust.
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// A new one. Its signatures have one length, so that each run has the same packets.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new() -> Result<Self, rcgen::Error> {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519)?;
        let certificate = rcgen::CertificateParams::new(["server".into()])?.self_signed(&key)?;
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        Ok(Self { certificate: certificate.into(), key })
    }

    fn server(&self) -> ServerConfig {
        let mut config = ServerConfig::with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .expect("the key belongs to the certificate");
        config.transport_config(Arc::new(transport()));
        config
    }

    fn client(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).expect("the certificate is well-formed");
        let mut config =
            ClientConfig::with_root_certificates(Arc::new(roots)).expect("one trusted certificate");
        config.transport_config(Arc::new(transport()));
        config
    }
}

/// Windows that never limit a transfer, and one size of packets from the beginning.
fn transport() -> TransportConfig {
    let mut config = TransportConfig::default();
    let window = VarInt::from_u32(64 << 20);
    config.stream_receive_window(window).receive_window(window).send_window(64 << 20);
    config.mtu_discovery_config(None).initial_mtu(1200);
    config
}

/// Sends one endless stream to each client, or receives one.
pub struct Host {
    pub address: SocketAddr,
    endpoint: Endpoint,
    connections: HashMap<ConnectionHandle, Connection>,
    sending: Vec<(ConnectionHandle, StreamId)>,
    /// Bytes of streams that have been read.
    pub received: u64,
    outgoing: Vec<Datagram>,
}

impl Host {
    /// A server at `address`.
    pub fn server(address: SocketAddr, identity: &Identity) -> Self {
        Self::new(address, Some(Arc::new(identity.server())))
    }

    /// A client at `address`, which connects to `server`.
    pub fn client(address: SocketAddr, server: SocketAddr, identity: &Identity, now: Instant) -> Self {
        let mut host = Self::new(address, None);
        let connected = host.endpoint.connect(now, identity.client(), server, "server");
        let (handle, connection) = connected.expect("a valid name and address");
        host.connections.insert(handle, connection);
        host
    }

    fn new(address: SocketAddr, server: Option<Arc<ServerConfig>>) -> Self {
        let mut config = EndpointConfig::default();
        config.rng_seed(Some([address.port() as u8; 32]));
        let endpoint = Endpoint::new(Arc::new(config), server, false, None);
        Self {
            address,
            endpoint,
            connections: HashMap::new(),
            sending: Vec::new(),
            received: 0,
            outgoing: Vec::new(),
        }
    }

    /// A datagram arrives.
    pub fn receive(&mut self, datagram: &Datagram, now: Instant) {
        let mut answer = Vec::new();
        let payload = BytesMut::from(&datagram.payload[..]);
        match self.endpoint.handle(now, datagram.from, None, datagram.ecn, payload, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(connection) = self.connections.get_mut(&handle) {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                if let Ok((handle, connection)) = self.endpoint.accept(incoming, now, &mut answer, None) {
                    self.connections.insert(handle, connection);
                }
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }

    /// Time of the next call of [`Self::run`] without an arrival.
    pub fn timeout(&mut self) -> Option<Instant> {
        self.connections.values_mut().filter_map(Connection::poll_timeout).min()
    }

    /// Does what is due at `now`, and returns the datagrams that it sends.
    pub fn run(&mut self, now: Instant) -> impl Iterator<Item = Datagram> {
        // In the order of their handles, so that each run is the same.
        let mut handles: Vec<_> = self.connections.keys().copied().collect();
        handles.sort_unstable_by_key(|handle| handle.0);
        for handle in handles {
            self.run_connection(handle, now);
        }
        self.outgoing.drain(..)
    }

    fn run_connection(&mut self, handle: ConnectionHandle, now: Instant) {
        let Some(connection) = self.connections.get_mut(&handle) else { return };
        if connection.poll_timeout().is_some_and(|at| at <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            if matches!(event, Event::Connected) && connection.side().is_server() {
                let stream = connection.streams().open(Dir::Uni).expect("clients allow a stream");
                self.sending.push((handle, stream));
            }
        }
        for &(_, stream) in self.sending.iter().filter(|(of, _)| *of == handle) {
            // Blocked once the window is full.
            while connection.send_stream(stream).write(&[0; 16 << 10]).is_ok() {}
        }
        self.received += read(connection);
        let mut payload = Vec::new();
        while let Some(transmit) = connection.poll_transmit(now, 1, &mut payload) {
            let (to, ecn) = (transmit.destination, transmit.ecn);
            let payload = std::mem::take(&mut payload);
            self.outgoing.push(Datagram { from: self.address, to, ecn, payload });
        }
    }
}

/// Reads what a connection has received; returns the number of bytes.
fn read(connection: &mut Connection) -> u64 {
    while connection.streams().accept(Dir::Uni).is_some() {}
    if !connection.side().is_client() {
        return 0;
    }
    // The first stream that a server opens.
    let mut stream = connection.recv_stream(StreamId::new(quinn_proto::Side::Server, Dir::Uni, 0));
    let Ok(mut chunks) = stream.read(true) else { return 0 };
    let mut bytes = 0;
    while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
        bytes += chunk.bytes.len() as u64;
    }
    let _ = chunks.finalize();
    bytes
}
