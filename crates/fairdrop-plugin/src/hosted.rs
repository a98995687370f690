//! A queue whose discipline is in a shared object: what the simulator calls.

use crate::bench::{Bench, Words, from_c, table, to_c};
use crate::table::Table;
use fairdrop::{Backlog, Env, Packet, Time};
use fairdrop_ffi::{Packet as CPacket, PluginHost};
use fairdrop_sim::own::{Desk, OwnQueue, Setup, Wrong};
use std::ffi::c_void;
use std::ptr::NonNull;

/// A queue of a plug-in. It and its bench are used by one thread at a time.
pub struct Hosted {
    table: Table,
    queue: NonNull<c_void>,
    // Both stay where they are as long as the queue is there, which has pointers to them.
    bench: *mut Bench,
    host: *mut PluginHost,
    /// Where `show` writes.
    values: Vec<f64>,
}

// SAFETY: the header asks of plug-ins that a queue may go from thread to thread, and the bench is the queue's own.
unsafe impl Send for Hosted {}

impl Hosted {
    /// A queue, or why there is none.
    pub fn new(
        plugin: Table,
        words: Words,
        names: &[&'static str],
        setup: &Setup,
        desk: &mut Desk,
    ) -> Result<Self, String> {
        let bench = Box::into_raw(Box::new(Bench::new(setup, words, desk)));
        let host = Box::into_raw(Box::new(table(bench, setup)));
        let make = plugin.0.make.expect("tables are checked when they are loaded");
        // SAFETY: the host stays as it is until `release` has returned.
        let queue = NonNull::new(unsafe { make(host) });
        desk.values = names.iter().map(|name| (*name, 0.0)).collect();
        match (queue, desk.take_wrong()) {
            (Some(queue), None) => {
                let mut hosted = Self { table: plugin, queue, bench, host, values: vec![0.0; names.len()] };
                hosted.look(true, desk);
                Ok(hosted)
            }
            (queue, wrong) => {
                if let (Some(queue), Some(release)) = (queue, plugin.0.release) {
                    // SAFETY: it was made, and is used no more.
                    unsafe { release(queue.as_ptr()) };
                }
                // SAFETY: they were boxes, and nobody has them any more.
                unsafe { free(bench, host) };
                Err(wrong.map_or_else(|| "it has no memory (make returned NULL)".into(), |wrong| wrong.what))
            }
        }
    }

    /// Before a call: the functions of the host work on `desk`.
    #[inline]
    fn begin(&mut self, desk: &mut Desk) {
        // SAFETY: the queue is not called now, so nobody else uses the bench.
        unsafe { (*self.bench).desk = desk };
    }

    /// Puts on the desk what waits, and what it shows if that may have changed.
    #[inline]
    fn look(&mut self, values_too: bool, desk: &mut Desk) {
        let Backlog { packets, bytes } = &mut desk.backlog;
        if let Some(backlog) = self.table.0.backlog {
            // SAFETY: the queue was made by the same table.
            unsafe { backlog(self.queue.as_ptr(), packets, bytes) };
        } else {
            // SAFETY: no call is running.
            let fifo = unsafe { &(*self.bench).fifo };
            (*packets, *bytes) = (fifo.len(), fifo.bytes());
        }
        if values_too && let Some(show) = self.table.0.show.filter(|_| !self.values.is_empty()) {
            // SAFETY: there is room for as many values as the table has names.
            unsafe { show(self.queue.as_ptr(), self.values.as_mut_ptr()) };
            desk.values.iter_mut().zip(&self.values).for_each(|((_, before), value)| *before = *value);
        }
    }
}

/// # Safety
/// Both came from boxes, and nobody uses them any more.
unsafe fn free(bench: *mut Bench, host: *mut PluginHost) {
    // SAFETY: by the caller.
    unsafe {
        drop(Box::from_raw(host));
        drop(Box::from_raw(bench));
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        if let Some(release) = self.table.0.release {
            // SAFETY: the queue is used no more.
            unsafe { release(self.queue.as_ptr()) };
        }
        // SAFETY: the queue, which had pointers to them, is gone.
        unsafe { free(self.bench, self.host) };
    }
}

// SAFETY of the calls below: the queue was made by the same table, and calls of one queue do not overlap; nothing of the bench is
// borrowed meanwhile.
impl OwnQueue for Hosted {
    fn enqueue(&mut self, packet: Packet<u32>, desk: &mut Desk) -> Result<(), Box<Wrong>> {
        let enqueue = self.table.0.enqueue.expect("tables are checked when they are loaded");
        let packet = to_c(&packet);
        self.begin(desk);
        // SAFETY: see above.
        unsafe { enqueue(self.queue.as_ptr(), &raw const packet, desk.now().ns()) };
        self.look(true, desk);
        Ok(())
    }

    fn dequeue(&mut self, desk: &mut Desk) -> Result<Option<Packet<u32>>, Box<Wrong>> {
        let dequeue = self.table.0.dequeue.expect("tables are checked when they are loaded");
        let mut packet =
            CPacket { flow: 0, cookie: u64::MAX, enqueued_ns: 0, len: 0, label: 0, traffic_class: 0, ecn: 0 };
        self.begin(desk);
        // SAFETY: see above.
        let given = unsafe { dequeue(self.queue.as_ptr(), &raw mut packet, desk.now().ns()) };
        self.look(self.table.0.departures_change_internals, desk);
        Ok(given.then(|| from_c(&packet)))
    }

    fn tick(&mut self, desk: &mut Desk) -> Result<(), Box<Wrong>> {
        self.begin(desk);
        if let Some(tick) = self.table.0.tick {
            // SAFETY: see above.
            unsafe { tick(self.queue.as_ptr(), desk.now().ns()) };
        }
        self.look(true, desk);
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        // SAFETY: see above.
        let ns = self.table.0.deadline.map(|deadline| unsafe { deadline(self.queue.as_ptr()) })?;
        (ns != u64::MAX).then(|| Time::from_ns(ns))
    }

    fn departures_change_internals(&self) -> bool {
        self.table.0.departures_change_internals
    }
}
