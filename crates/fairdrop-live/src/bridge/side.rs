//! One of the two interfaces of a bridge, and its sockets.

use super::keeper::{Keeper, Refused};
use crate::daemon::Refusal;
use crate::os::{Interface, PacketSocket};
use std::io;
use std::sync::Arc;

/// An interface that may go away and come back.
#[derive(Debug)]
pub(super) struct Side {
    /// As the operator named it.
    name: String,
    /// Where frames come in.
    pub input: Arc<PacketSocket>,
    /// Where they go out.
    pub output: Arc<PacketSocket>,
    /// What it was like when last looked at; `None`: there is none.
    now: Option<Interface>,
}

impl Side {
    /// With sockets that are not bound yet.
    pub fn new(name: &str) -> io::Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            input: Arc::new(PacketSocket::new()?),
            output: Arc::new(PacketSocket::new()?),
            now: None,
        })
    }

    /// Takes an interface into use. Without a keeper its settings stay as they are.
    pub fn attach(&mut self, interface: &Interface, keeper: Option<&Keeper>) -> Result<(), Refusal> {
        if let Some(keeper) = keeper {
            change_settings(keeper, interface)?;
        }
        let index = interface.index;
        let bound = self
            .input
            .promiscuous(index)
            .and_then(|()| self.input.bind(index, true))
            .and_then(|()| self.output.bind(index, false));
        bound.map_err(|error| Refusal::running(format!("{}: {error}", self.name)))?;
        if !interface.ready() {
            eprintln!("fairdropd: {}", waits_for(interface));
        }
        self.now = Some(interface.clone());
        Ok(())
    }

    /// Compares with the interfaces that there are now; says what has changed, and takes an interface that has come back into use.
    pub fn follow(&mut self, all: &[Interface], keeper: Option<&Keeper>) {
        let before = self.now.take();
        let same = before.as_ref().and_then(|before| all.iter().find(|one| one.index == before.index));
        if let (Some(before), Some(same)) = (&before, same) {
            tell_changes(before, same);
            self.now = Some(same.clone());
            return;
        }
        if let Some(gone) = before {
            eprintln!("fairdropd: {} is gone; waiting for an interface of the name {}", gone.name, self.name);
            // What it was set to went with it.
            if let Some(keeper) = keeper {
                keeper.forget(gone.index);
            }
        }
        if let Some(new) = all.iter().find(|one| one.name == self.name && one.ethernet) {
            eprintln!("fairdropd: {} is back", self.name);
            if let Err(refusal) = self.attach(new, keeper) {
                eprintln!("fairdropd: {}", refusal.message);
            }
        }
    }
}

/// Switches off what joins packets.
fn change_settings(keeper: &Keeper, interface: &Interface) -> Result<(), Refusal> {
    let name = &interface.name;
    let was_on = keeper.switch_off(name, interface.index).map_err(|refused| refusal_of(&refused, name))?;
    if !was_on.is_empty() {
        eprintln!("fairdropd: {name}: switched off until the end: {}", was_on.join(", "));
    }
    Ok(())
}

/// What is said of `name`, an interface or the bridge.
pub(super) fn refusal_of(refused: &Refused, name: &str) -> Refusal {
    match refused {
        Refused::InUse => {
            Refusal::input(format!("{name} is in use by another fairdropd; valid: an interface that is not"))
        }
        Refused::NoState(why) => Refusal::running(format!(
            "cannot keep what {name} was set to: {why}; valid: --state DIRECTORY that can be written, or --keep-offloads"
        )),
        Refused::NoChange(why) => Refusal::running(format!(
            "{name}: cannot switch off what joins packets: {why}; needs CAP_NET_ADMIN, or --keep-offloads"
        )),
        Refused::NoKeeper(why) => Refusal::running(why),
    }
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
