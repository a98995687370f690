//! What an interface does to frames before they are handed over, and its queues: the settings of `ethtool -k` and `ethtool -l`.
#![allow(unsafe_code)] // One ioctl, which is handed a pointer.

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsRawFd;

/// A setting that changes frames on their way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Offload {
    /// Generic receive offload: the kernel joins packets of a flow.
    Gro,
    /// Large receive offload: the device does, and joined frames cannot be cut again faithfully.
    Lro,
    /// The device takes tags of VLANs out of frames and reports them aside, which AF_XDP does not pass on everywhere.
    RxVlan,
}

// Numbers of linux/ethtool.h.
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_SFLAGS: u32 = 0x26;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_SGRO: u32 = 0x2c;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETH_FLAG_RXVLAN: u32 = 1 << 8;
const ETH_FLAG_LRO: u32 = 1 << 15;

impl Offload {
    /// All.
    pub const ALL: [Self; 3] = [Self::Gro, Self::Lro, Self::RxVlan];

    /// Those that join packets that came separately.
    pub const JOINING: [Self; 2] = [Self::Gro, Self::Lro];

    /// The name that `ethtool -K` knows it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gro => "gro",
            Self::Lro => "lro",
            Self::RxVlan => "rxvlan",
        }
    }

    /// Whether it is on. Off, where the device does not know it.
    ///
    /// # Errors
    /// There is no such interface.
    pub fn is_on(self, interface: &str) -> io::Result<bool> {
        let (command, bit) = match self {
            Self::Gro => (ETHTOOL_GGRO, u32::MAX),
            Self::Lro | Self::RxVlan => (ETHTOOL_GFLAGS, self.flag()),
        };
        match value_of(interface, command, 0) {
            Ok(data) => Ok(data & bit != 0),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Switches it.
    ///
    /// # Errors
    /// There is no such interface, no right to (`CAP_NET_ADMIN`), or the device cannot.
    pub fn switch(self, interface: &str, on: bool) -> io::Result<()> {
        let (command, data) = match self {
            Self::Gro => (ETHTOOL_SGRO, u32::from(on)),
            Self::Lro | Self::RxVlan => {
                let flags = value_of(interface, ETHTOOL_GFLAGS, 0)?;
                (ETHTOOL_SFLAGS, if on { flags | self.flag() } else { flags & !self.flag() })
            }
        };
        value_of(interface, command, data).map(drop)
    }

    const fn flag(self) -> u32 {
        match self {
            Self::Gro => 0,
            Self::Lro => ETH_FLAG_LRO,
            Self::RxVlan => ETH_FLAG_RXVLAN,
        }
    }
}

/// Receive queues that an interface uses; `None`: its driver does not report them.
///
/// # Errors
/// There is no such interface.
pub fn receive_queues(interface: &str) -> io::Result<Option<u32>> {
    // `struct ethtool_channels`: the command, four limits, then receive, transmit, other and combined queues.
    let mut channels = [0; 9];
    channels[0] = ETHTOOL_GCHANNELS;
    match ethtool(interface, &mut channels) {
        Ok(()) => Ok(Some(channels[5] + channels[8])),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Commands with `struct ethtool_value`: the command, and a value.
fn value_of(interface: &str, command: u32, value: u32) -> io::Result<u32> {
    let mut words = [command, value];
    ethtool(interface, &mut words)?;
    Ok(words[1])
}

/// `words` are the structure of the command that is the first of them.
fn ethtool<const WORDS: usize>(interface: &str, words: &mut [u32; WORDS]) -> io::Result<()> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut name = [0; libc::IFNAMSIZ];
    if interface.len() >= name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: words.as_mut_ptr().cast() },
    };
    // SAFETY: these commands read and write one structure of as many words, to which the request points; both live until it returns.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
