//! The flows of a sample of arrivals, and the number of entries of each.

use core::mem;

use crate::contract::params::{ParamError, require};
use crate::storage::flow_table::{FlowPlace, FlowTable};
use crate::storage::memory::Storage;

/// `R` holds the flow at each place of the sample, `F` the number of places of each flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowSample<R, F> {
    flows: R,
    size: usize,
    taken: usize,
    counts: FlowTable<F>,
}

impl<R: Storage<u64>, F: Storage<FlowPlace<u32>>> FlowSample<R, F> {
    /// An empty sample of `size` places, a number given by the parameter `name`.
    pub(crate) fn new(flows: R, places: F, name: &'static str, size: u32) -> Result<Self, ParamError> {
        let room = flows.as_ref().len();
        let enough = room >= size as usize;
        require(enough, name, room as f64, "at least as many places as the parameter says")?;
        let counts = FlowTable::new(places, size)?;
        Ok(Self { flows, size: size as usize, taken: 0, counts })
    }

    /// Places taken.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.taken
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.taken == self.size
    }

    /// Flows in the sample.
    pub(crate) fn flows(&self) -> u32 {
        self.counts.len()
    }

    /// Places of `flow`.
    #[inline]
    pub(crate) fn count(&self, flow: u64) -> u32 {
        self.counts.get(flow).copied().unwrap_or(0)
    }

    /// Puts `flow` at `place`: the first free one, or that of an older arrival once the sample is full. Each flow whose
    /// number of places changes is reported to `changed`, with the number before and after.
    #[inline]
    pub(crate) fn put(
        &mut self,
        place: usize,
        flow: u64,
        key: impl FnOnce() -> [u64; 2],
        mut changed: impl FnMut(u32, u32),
    ) {
        let is_full = self.is_full();
        let Some(taken) = self.flows.as_mut().get_mut(place) else { return };
        let old = mem::replace(taken, flow);
        if is_full {
            self.forget(old, &mut changed);
        } else {
            self.taken += 1;
        }
        if let Some(count) = self.counts.get_or_insert(flow, key, || 0) {
            *count += 1;
            changed(*count - 1, *count);
        }
    }

    fn forget(&mut self, flow: u64, changed: &mut impl FnMut(u32, u32)) {
        let Some(count) = self.counts.get_mut(flow) else { return };
        *count -= 1;
        let left = *count;
        if left == 0 {
            self.counts.remove(flow);
        }
        changed(left + 1, left);
    }
}
