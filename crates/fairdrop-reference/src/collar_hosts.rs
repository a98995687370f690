//! COLLAR among hosts, from the pseudo-code of its page: the model of COLLAR with hosts, before a list.

use std::collections::BTreeMap;

use fairdrop::{AnyDiscipline, CollarHostsParams, Hosts, Packet, SharingHosts};

use crate::collar::{CollarModel, id_of};
use crate::host::{Queue, hosts_of};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

pub struct CollarHostsModel {
    ends: usize,
    collar: CollarModel,
    hosts: BTreeMap<u64, Hosts>,
    /// Packets, each with the ids of its hosts.
    queue: Vec<(Packet<u32>, Vec<u32>)>,
}

impl CollarHostsModel {
    pub fn new(params: CollarHostsParams) -> Self {
        let ends = if params.isolation == SharingHosts::Both { 2 } else { 1 };
        let collar = CollarModel::among_hosts(params.collar, ends, params.hosts);
        Self { ends, collar, hosts: BTreeMap::new(), queue: Vec::new() }
    }

    /// The library's ids of a flow's hosts.
    fn ids(&self, flow: u64, fast: &Queue) -> Vec<u32> {
        let AnyDiscipline::CollarHosts(queue) = fast else { return vec![0; self.ends] };
        queue.ids_of(hosts_of(&self.hosts, flow)).ids()[..self.ends].to_vec()
    }
}

impl Slow for CollarHostsModel {
    fn set_hosts(&mut self, hosts: &BTreeMap<u64, Hosts>) {
        self.hosts.clone_from(hosts);
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.iter().map(|(packet, _)| packet.clone()).collect()
    }

    fn arrive(&mut self, Arrival { mut packet, now, fast, .. }: Arrival, random: Random) -> Decided {
        let (id, hosts) = (id_of(packet.meta.flow, fast), self.ids(packet.meta.flow, fast));
        let (_, dropped) = self.collar.decide_among(&mut packet, id, &hosts, self.queue.len(), now, random);
        if let Some(cause) = dropped {
            return Ok(vec![(packet, cause)]);
        }
        self.queue.push((packet, hosts));
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, fast: &Queue, random: Random) -> Departure {
        if self.queue.is_empty() {
            return Ok((Vec::new(), None));
        }
        let (packet, hosts) = self.queue.remove(0);
        let (id, wait) = (id_of(packet.meta.flow, fast), now - packet.enqueued.ns());
        self.collar.leaves_among(&packet, id, &hosts, wait, self.queue.len(), now, random);
        Ok((Vec::new(), Some(packet)))
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        self.collar.same_state(fast)
    }
}

pub fn reference(params: CollarHostsParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CollarHostsModel::new(params)))
}
