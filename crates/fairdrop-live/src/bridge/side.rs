//! One of the two interfaces of a bridge, and its sockets.

use super::BridgeOptions;
use super::settings::Settings;
use super::xdp::XdpSide;
use crate::cli::XdpWay;
use crate::daemon::Refusal;
use crate::os::{Interface, Offload, PacketSocket};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An interface that may go away and come back.
#[derive(Debug)]
pub(super) struct Side {
    /// As the operator named it.
    name: String,
    /// Its sockets.
    pub sockets: Sockets,
    /// Keeps it in promiscuous mode.
    promiscuous: Arc<PacketSocket>,
    /// What it was like when last looked at; `None`: there is none.
    now: Option<Interface>,
    /// Where settings are kept; `None`: they stay as they are.
    state: Option<PathBuf>,
    settings: Option<Settings>,
}

/// Sockets that may have to wait for their interface.
#[derive(Debug)]
pub(super) enum Sockets {
    /// Packet sockets: where frames come in, and where they go out.
    Packet(Arc<PacketSocket>, Arc<PacketSocket>),
    /// AF_XDP sockets.
    Xdp(XdpSide),
}

impl Side {
    /// With sockets that are not bound yet; those of AF_XDP, if they are to be used in some way.
    pub fn new(name: &str, way: Option<XdpWay>, options: &BridgeOptions) -> io::Result<Self> {
        let input = Arc::new(PacketSocket::new()?);
        let sockets = match way {
            Some(way) => Sockets::Xdp(XdpSide::new(way, options.ring_bytes)),
            None => Sockets::Packet(Arc::clone(&input), Arc::new(PacketSocket::new()?)),
        };
        let (state, settings) = (options.state.clone(), None);
        Ok(Self { name: name.to_owned(), sockets, promiscuous: input, now: None, state, settings })
    }

    /// Takes an interface into use.
    pub fn attach(&mut self, interface: &Interface) -> Result<(), Refusal> {
        if let Some(directory) = &self.state {
            let offloads: &[Offload] = match self.sockets {
                Sockets::Packet(..) => &Offload::JOINING,
                Sockets::Xdp(_) => &Offload::ALL,
            };
            self.settings = Some(change_settings(directory, interface, offloads)?);
        }
        let index = interface.index;
        let failed = |error| Refusal::running(format!("{}: {error}", self.name));
        self.promiscuous.promiscuous(index).map_err(failed)?;
        match &mut self.sockets {
            Sockets::Packet(input, output) => {
                input.bind(index, true).and_then(|()| output.bind(index, false)).map_err(failed)?;
            }
            Sockets::Xdp(side) => side.attach(interface)?,
        }
        if !interface.ready() {
            eprintln!("fairdropd: {}", waits_for(interface));
        }
        self.now = Some(interface.clone());
        Ok(())
    }

    /// Compares with the interfaces that there are now; says what has changed, and takes an interface that has come back into use.
    pub fn follow(&mut self, all: &[Interface]) {
        let before = self.now.take();
        let same = before.as_ref().and_then(|before| all.iter().find(|one| one.index == before.index));
        if let (Some(before), Some(same)) = (&before, same) {
            tell_changes(before, same);
            if let Sockets::Xdp(side) = &self.sockets {
                side.changed(same);
            }
            self.now = Some(same.clone());
            return;
        }
        if let Some(gone) = before {
            eprintln!("fairdropd: {} is gone; waiting for an interface of the name {}", gone.name, self.name);
            if let Sockets::Xdp(side) = &mut self.sockets {
                side.leave();
            }
            // What it was set to went with it.
            if let Some(settings) = self.settings.take() {
                let _ = settings.remove();
            }
        }
        if let Some(new) = all.iter().find(|one| one.name == self.name && one.ethernet) {
            eprintln!("fairdropd: {} is back", self.name);
            if let Err(refusal) = self.attach(new) {
                eprintln!("fairdropd: {}", refusal.message);
            }
        }
    }

    /// Puts back what was changed.
    pub fn detach(mut self) {
        if let Sockets::Xdp(side) = &mut self.sockets {
            side.leave();
        }
        let (Some(mut settings), Some(now)) = (self.settings.take(), &self.now) else { return };
        match settings.put_back(&now.name, now.index) {
            Ok(on) if on.is_empty() => {}
            Ok(on) => eprintln!("fairdropd: {}: switched on again: {}", now.name, on.join(", ")),
            Err(error) => {
                eprintln!("fairdropd: {}: cannot switch on again what was on: {error}", now.name);
            }
        }
        let _ = settings.remove();
    }
}

/// Switches off what makes other frames of those that came.
fn change_settings(
    directory: &Path,
    interface: &Interface,
    offloads: &[Offload],
) -> Result<Settings, Refusal> {
    let name = &interface.name;
    let mut settings = Settings::of(directory, name, interface.index).map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => {
            Refusal::input(format!("{name} is in use by another fairdropd; valid: an interface that is not"))
        }
        _ => Refusal::running(format!(
            "{}: cannot keep what {name} was set to: {error}; valid: --state DIRECTORY that can be written, or --keep-offloads",
            directory.display()
        )),
    })?;
    let was_on = settings.switch_off(name, interface.index, offloads).map_err(|error| {
        Refusal::running(format!(
            "{name}: cannot switch off what changes frames: {error}; needs CAP_NET_ADMIN, or --keep-offloads"
        ))
    })?;
    if !was_on.is_empty() {
        eprintln!("fairdropd: {name}: switched off until the end: {}", was_on.join(", "));
    }
    Ok(settings)
}

fn tell_changes(before: &Interface, now: &Interface) {
    if before.name != now.name {
        eprintln!("fairdropd: {} is called {} now", before.name, now.name);
    }
    if before.mtu != now.mtu {
        eprintln!("fairdropd: {}: MTU {} instead of {}", now.name, now.mtu, before.mtu);
    }
    match (before.ready(), now.ready()) {
        (true, false) => eprintln!("fairdropd: {}", waits_for(now)),
        (false, true) => eprintln!("fairdropd: {} is up", now.name),
        _ => {}
    }
}

fn waits_for(interface: &Interface) -> String {
    let name = &interface.name;
    if interface.up {
        format!("{name} has no carrier: waiting for it")
    } else {
        format!("{name} is down: waiting for it (ip link set {name} up)")
    }
}
