//! What an interface does to frames before they are handed over: the settings of `ethtool -k`.
#![allow(unsafe_code)] // One ioctl, which is handed a pointer.

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::AsRawFd;

/// A setting that joins packets that came separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Generic receive offload: the kernel joins packets of a flow.
    Gro,
    /// Large receive offload: the device does, and what it joined cannot be cut again faithfully.
    Lro,
}

// Numbers of linux/ethtool.h.
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_SFLAGS: u32 = 0x26;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_SGRO: u32 = 0x2c;
const ETH_FLAG_LRO: u32 = 1 << 15;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

impl Offload {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Gro, Self::Lro];

    /// The name that `ethtool -K` knows it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gro => "gro",
            Self::Lro => "lro",
        }
    }

    /// Whether it is on. Off, where the device does not know it.
    ///
    /// # Errors
    /// There is no such interface.
    pub fn is_on(self, interface: &str) -> io::Result<bool> {
        let (command, bit) = match self {
            Self::Gro => (ETHTOOL_GGRO, u32::MAX),
            Self::Lro => (ETHTOOL_GFLAGS, ETH_FLAG_LRO),
        };
        match ethtool(interface, command, 0) {
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
            Self::Lro => {
                let flags = ethtool(interface, ETHTOOL_GFLAGS, 0)?;
                (ETHTOOL_SFLAGS, if on { flags | ETH_FLAG_LRO } else { flags & !ETH_FLAG_LRO })
            }
        };
        ethtool(interface, command, data).map(drop)
    }
}

fn ethtool(interface: &str, command: u32, data: u32) -> io::Result<u32> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut value = Value { command, data };
    let mut name = [0; libc::IFNAMSIZ];
    if interface.len() >= name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: (&raw mut value).cast() },
    };
    // SAFETY: these commands read and write one `struct ethtool_value`, to which the request points; both live until it returns.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(value.data) }
}
