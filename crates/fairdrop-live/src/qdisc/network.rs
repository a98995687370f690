//! Queue disciplines of interfaces, over route netlink.

use super::grammar::Place;
use crate::os::Netlink;
use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use std::io;

/// A qdisc of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Name of the interface.
    pub dev: String,
    /// The kernel's name of the discipline.
    pub kind: String,
    /// Major number.
    pub handle: u16,
    /// None for the root.
    pub parent: Option<(u16, u16)>,
}

/// The qdiscs of this namespace.
#[derive(Debug)]
pub struct Network {
    netlink: Netlink,
}

fn handle(parent: Option<(u16, u16)>) -> TcHandle {
    parent.map_or(TcHandle::ROOT, |(major, minor)| TcHandle { major, minor })
}

impl Network {
    /// Those of the namespace of this process.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn open() -> Result<Self, String> {
        Netlink::open().map(|netlink| Self { netlink }).map_err(|error| error.to_string())
    }

    fn index(&self, dev: &str) -> Result<u32, String> {
        let link = self.netlink.link(dev);
        link.map(|link| link.header.index).map_err(|error| format!("dev {dev}: {error}"))
    }

    fn request(&self, place: &Place, kind: &str) -> Result<TcMessage, String> {
        let mut message = TcMessage::with_index(self.index(&place.dev)? as i32);
        message.header.parent = handle(place.parent);
        message.header.handle = TcHandle { major: place.handle, minor: 0 };
        message.attributes.push(TcAttribute::Kind(kind.into()));
        Ok(message)
    }

    /// Puts the discipline of that name to a place; in the place of another where `replaces`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn put(&self, place: &Place, kind: &str, replaces: bool) -> Result<(), String> {
        let message = self.request(place, kind)?;
        let how = if replaces { NLM_F_REPLACE } else { NLM_F_EXCL };
        let done = self.netlink.request(Message::NewQueueDiscipline(message), NLM_F_ACK | NLM_F_CREATE | how);
        done.map(drop).map_err(|error| format!("{}: {}", described(place), reason(&error)))
    }

    /// Deletes the qdisc at a place.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn delete(&self, place: &Place) -> Result<(), String> {
        let mut message = self.request(place, "")?;
        message.attributes.clear();
        let done = self.netlink.request(Message::DelQueueDiscipline(message), NLM_F_ACK);
        done.map(drop).map_err(|error| format!("{}: {}", described(place), reason(&error)))
    }

    /// All qdiscs, of one interface or of all.
    ///
    /// # Errors
    /// There is no such interface.
    pub fn list(&self, dev: Option<&str>) -> Result<Vec<Qdisc>, String> {
        let index = dev.map(|dev| self.index(dev)).transpose()?;
        let ask = |message| self.netlink.request(message, NLM_F_DUMP).map_err(|error| error.to_string());
        let names = ask(Message::GetLink(LinkMessage::default()))?;
        let found = ask(Message::GetQueueDiscipline(TcMessage::default()))?;
        let of_index = |message: Message| match message {
            Message::NewQueueDiscipline(found) => {
                let name = name_of(&names, found.header.index as u32)?;
                (index.is_none_or(|index| found.header.index as u32 == index)).then(|| qdisc(&found, name))?
            }
            _ => None,
        };
        Ok(found.into_iter().filter_map(of_index).collect())
    }

    /// The qdisc at a place, other than the kernel's own default.
    ///
    /// # Errors
    /// There is no such interface.
    pub fn at(&self, place: &Place) -> Result<Option<Qdisc>, String> {
        let mut found = self.list(Some(&place.dev))?.into_iter();
        Ok(found.find(|qdisc| qdisc.parent == place.parent && qdisc.handle != 0))
    }
}

fn name_of(links: &[Message], index: u32) -> Option<String> {
    links.iter().find_map(|message| match message {
        Message::NewLink(link) if link.header.index == index => {
            link.attributes.iter().find_map(|attribute| match attribute {
                LinkAttribute::IfName(name) => Some(name.clone()),
                _ => None,
            })
        }
        _ => None,
    })
}

fn qdisc(message: &TcMessage, dev: String) -> Option<Qdisc> {
    let kind = message.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Kind(kind) => Some(kind.clone()),
        _ => None,
    })?;
    let parent = message.header.parent;
    let parent = (parent != TcHandle::ROOT).then_some((parent.major, parent.minor));
    Some(Qdisc { dev, kind, handle: message.header.handle.major, parent })
}

/// A place in the words of `tc`.
pub fn described(place: &Place) -> String {
    match place.parent {
        None => format!("dev {} root", place.dev),
        Some((major, minor)) => format!("dev {} parent {major:x}:{minor:x}", place.dev),
    }
}

fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EEXIST) => "there is a qdisc already; valid: replace, or del first".into(),
        Some(libc::ENOENT) => "there is no such qdisc, or no such parent".into(),
        Some(libc::EOPNOTSUPP) => "the parent has no place for a qdisc; valid: root, or a class of mq".into(),
        Some(libc::EPERM) => "it takes the rights of root".into(),
        _ => error.to_string(),
    }
}
