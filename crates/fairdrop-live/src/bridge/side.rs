//! One of the two interfaces of a bridge, and its sockets.

use super::keeper::{Keeper, Refused};
use super::xdp::XdpSide;
use crate::cli::XdpWay;
use crate::daemon::Refusal;
use crate::os::{Interface, Offload, PacketSocket};
use std::io;
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
    pub fn new(name: &str, way: Option<XdpWay>, ring_bytes: u32) -> io::Result<Self> {
        let input = Arc::new(PacketSocket::new()?);
        let sockets = match way {
            Some(way) => Sockets::Xdp(XdpSide::new(way, ring_bytes)),
            None => Sockets::Packet(Arc::clone(&input), Arc::new(PacketSocket::new()?)),
        };
        Ok(Self { name: name.to_owned(), sockets, promiscuous: input, now: None })
    }

    /// Takes an interface into use. Without a keeper its settings stay as they are.
    pub fn attach(&mut self, interface: &Interface, keeper: Option<&Keeper>) -> Result<(), Refusal> {
        if let Some(keeper) = keeper {
            let offloads: &[Offload] = match self.sockets {
                Sockets::Packet(..) => &Offload::JOINING,
                Sockets::Xdp(_) => &Offload::ALL,
            };
            change_settings(keeper, interface, offloads)?;
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
            crate::say!("fairdropd: {}", waits_for(interface));
        }
        self.now = Some(interface.clone());
        Ok(())
    }

    /// Compares with the present interfaces; logs the changes, and takes an interface that has come back into use.
    pub fn follow(&mut self, all: &[Interface], keeper: Option<&Keeper>) {
        let before = self.now.take();
        let same = before.as_ref().and_then(|before| all.iter().find(|one| one.index == before.index));
        if let (Some(before), Some(same)) = (&before, same) {
            log_changes(before, same);
            if let Sockets::Xdp(side) = &self.sockets {
                side.changed(same);
            }
            self.now = Some(same.clone());
            return;
        }
        if let Some(gone) = before {
            crate::say!(
                "fairdropd: {} is gone; waiting for an interface of the name {}",
                gone.name,
                self.name
            );
            if let Sockets::Xdp(side) = &mut self.sockets {
                side.leave();
            }
            // What it was set to went with it.
            if let Some(keeper) = keeper {
                keeper.forget(gone.index);
            }
        }
        if let Some(new) = all.iter().find(|one| one.name == self.name && one.ethernet) {
            crate::say!("fairdropd: {} is back", self.name);
            if let Err(refusal) = self.attach(new, keeper) {
                crate::say!("fairdropd: {}", refusal.message);
            }
        }
    }

    /// The longest packet that it sends, and its name.
    pub fn mtu(&self) -> Option<(u32, &str)> {
        self.now.as_ref().map(|interface| (interface.mtu, interface.name.as_str()))
    }
}

/// Switches off the settings that change frames on their way in.
fn change_settings(keeper: &Keeper, interface: &Interface, offloads: &[Offload]) -> Result<(), Refusal> {
    let name = &interface.name;
    let was_on =
        keeper.switch_off(name, interface.index, offloads).map_err(|refused| refusal_of(&refused, name))?;
    if !was_on.is_empty() {
        crate::say!("fairdropd: {name}: switched off until the end: {}", was_on.join(", "));
    }
    Ok(())
}

/// A message on `name`, an interface or the bridge.
pub(super) fn refusal_of(refused: &Refused, name: &str) -> Refusal {
    match refused {
        Refused::InUse => {
            Refusal::input(format!("{name} is in use by another fairdropd; valid: an interface that is not"))
        }
        Refused::NoState(why) => Refusal::running(format!(
            "cannot keep what {name} was set to: {why}; valid: --state DIRECTORY that can be written, or --keep-offloads"
        )),
        Refused::NoChange(why) => Refusal::running(format!(
            "{name}: cannot switch off what changes frames: {why}; needs CAP_NET_ADMIN, or --keep-offloads"
        )),
        Refused::NoKeeper(why) => Refusal::running(why),
    }
}

fn log_changes(before: &Interface, now: &Interface) {
    if before.name != now.name {
        crate::say!("fairdropd: {} is called {} now", before.name, now.name);
    }
    if before.mtu != now.mtu {
        crate::say!("fairdropd: {}: MTU {} instead of {}", now.name, now.mtu, before.mtu);
    }
    match (before.ready(), now.ready()) {
        (true, false) => crate::say!("fairdropd: {}", waits_for(now)),
        (false, true) => crate::say!("fairdropd: {} is up", now.name),
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
