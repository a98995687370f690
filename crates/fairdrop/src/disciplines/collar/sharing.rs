//! Whose shares are fair: those of flows, in bytes, unless parameters set weights of classes or hosts that share first.

use super::hosts::{AmongHosts, HostSet};
use super::weights::ByClass;
use crate::storage::Storage;

/// The weights and the hosts of a decision. The compiler knows that [`AmongFlows`] has neither, and leaves out what they need.
pub trait Sharing {
    /// The memory of hosts.
    type Ids: Storage<u32>;
    /// The table of hosts.
    type Hosts: Storage<HostSet>;

    /// The count of a packet by its class, if classes have weights.
    fn weights(&self) -> Option<&ByClass>;

    /// The same, to change.
    fn weights_mut(&mut self) -> Option<&mut ByClass>;

    /// The shares of hosts, if hosts share before their flows do.
    fn hosts(&self) -> Option<&AmongHosts<Self::Ids, Self::Hosts>>;

    /// The same, to change.
    fn hosts_mut(&mut self) -> Option<&mut AmongHosts<Self::Ids, Self::Hosts>>;
}

/// Equal shares of all flows, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AmongFlows;

impl Sharing for AmongFlows {
    type Ids = [u32; 0];
    type Hosts = [HostSet; 0];

    #[inline(always)]
    fn weights(&self) -> Option<&ByClass> {
        None
    }

    #[inline(always)]
    fn weights_mut(&mut self) -> Option<&mut ByClass> {
        None
    }

    #[inline(always)]
    fn hosts(&self) -> Option<&AmongHosts<Self::Ids, Self::Hosts>> {
        None
    }

    #[inline(always)]
    fn hosts_mut(&mut self) -> Option<&mut AmongHosts<Self::Ids, Self::Hosts>> {
        None
    }
}

/// The weights and the hosts that the parameters set.
#[derive(Clone, Debug)]
pub struct AsSet<I, U> {
    pub(super) weights: Option<ByClass>,
    pub(super) hosts: Option<AmongHosts<I, U>>,
}

impl<I: Storage<u32>, U: Storage<HostSet>> Sharing for AsSet<I, U> {
    type Ids = I;
    type Hosts = U;

    #[inline]
    fn weights(&self) -> Option<&ByClass> {
        self.weights.as_ref()
    }

    #[inline]
    fn weights_mut(&mut self) -> Option<&mut ByClass> {
        self.weights.as_mut()
    }

    #[inline]
    fn hosts(&self) -> Option<&AmongHosts<I, U>> {
        self.hosts.as_ref()
    }

    #[inline]
    fn hosts_mut(&mut self) -> Option<&mut AmongHosts<I, U>> {
        self.hosts.as_mut()
    }
}
