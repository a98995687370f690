//! A queue whose discipline is in a shared object: what the simulator calls.

use crate::bench::{Bench, Words, from_c, table, to_c};
use crate::table::{Arrivals, Departures, Functions};
use fairdrop::{Backlog, Env, Packet, Time};
use fairdrop_ffi::{Packet as CPacket, PluginHost};
use fairdrop_sim::own::{Desk, OwnQueue, Setup, Wrong};
use std::ffi::c_void;
use std::ptr::NonNull;

/// What `dequeue` is given to write over.
const NO_PACKET: CPacket =
    CPacket { flow: 0, cookie: u64::MAX, enqueued_ns: 0, len: 0, label: 0, traffic_class: 0, ecn: 0 };

/// A queue of a plug-in. It and its bench are used by one thread at a time.
pub struct Hosted {
    functions: Functions,
    queue: NonNull<c_void>,
    // Both stay where they are as long as the queue is there, which has pointers to them.
    bench: *mut Bench,
    host: *mut PluginHost,
}

// SAFETY: the header asks of plug-ins that a queue may go from thread to thread, and the bench is the queue's own.
unsafe impl Send for Hosted {}

impl Hosted {
    /// A queue, or why there is none.
    pub fn new(
        functions: Functions,
        version: u32,
        words: Words,
        names: &[&'static str],
        setup: &Setup,
        desk: &mut Desk,
    ) -> Result<Self, String> {
        let bench = Box::into_raw(Box::new(Bench::new(setup, words, desk)));
        let host = Box::into_raw(Box::new(table(bench, version, setup)));
        // SAFETY: the host stays as it is until `release` has returned.
        let queue = NonNull::new(unsafe { (functions.make)(host) });
        desk.name_values(names.iter().copied());
        match (queue, desk.take_wrong()) {
            (Some(queue), None) => {
                let mut hosted = Self { functions, queue, bench, host };
                hosted.look(true, desk);
                Ok(hosted)
            }
            (queue, wrong) => {
                if let Some(queue) = queue {
                    // SAFETY: it was made, and is used no more.
                    unsafe { (functions.release)(queue.as_ptr()) };
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
        if let Some(backlog) = self.functions.backlog {
            // SAFETY: the queue was made by the same table.
            unsafe { backlog(self.queue.as_ptr(), packets, bytes) };
        } else {
            // SAFETY: no call is running.
            let fifo = unsafe { &(*self.bench).fifo };
            (*packets, *bytes) = (fifo.len(), fifo.bytes());
        }
        if values_too && let Some(show) = self.functions.show {
            // SAFETY: the desk has room for as many values as the table has names.
            unsafe { show(self.queue.as_ptr(), desk.values.as_mut_ptr()) };
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
        // SAFETY: the queue is used no more.
        unsafe { (self.functions.release)(self.queue.as_ptr()) };
        // SAFETY: the queue, which had pointers to them, is gone.
        unsafe { free(self.bench, self.host) };
    }
}

// SAFETY of the calls below: the queue was made by the same table, and calls of one queue do not overlap; nothing of the bench is
// borrowed meanwhile.
impl OwnQueue for Hosted {
    fn enqueue(&mut self, packet: &Packet<u32>, desk: &mut Desk) -> Result<(), Box<Wrong>> {
        let (queue, now) = (self.queue.as_ptr(), desk.now().ns());
        let mut shown = to_c(packet);
        self.begin(desk);
        match self.functions.arrivals {
            // SAFETY: see above.
            Arrivals::Enqueue(enqueue) => unsafe { enqueue(queue, &raw const shown, now) },
            Arrivals::Admit(admit) => {
                // SAFETY: see above.
                let verdict = unsafe { admit(queue, &raw mut shown, now) };
                // SAFETY: the call has returned.
                unsafe { &mut *self.bench }.carry_out(verdict, packet, &shown, desk);
            }
        }
        self.look(true, desk);
        Ok(())
    }

    fn dequeue(&mut self, desk: &mut Desk) -> Result<Option<Packet<u32>>, Box<Wrong>> {
        let (queue, now) = (self.queue.as_ptr(), desk.now().ns());
        self.begin(desk);
        let packet = match self.functions.departures {
            Departures::Dequeue(dequeue) => {
                let mut packet = NO_PACKET;
                // SAFETY: see above.
                unsafe { dequeue(queue, &raw mut packet, now) }.then(|| from_c(&packet))
            }
            Departures::Head(idle) => {
                // SAFETY: no call is running.
                let packet = unsafe { &mut *self.bench }.fifo.pop();
                if let Some(idle) = idle.filter(|_| packet.is_none()) {
                    // SAFETY: see above.
                    unsafe { idle(queue, now) };
                }
                packet
            }
        };
        self.look(self.functions.departures_change_internals, desk);
        Ok(packet)
    }

    fn tick(&mut self, desk: &mut Desk) -> Result<(), Box<Wrong>> {
        self.begin(desk);
        if let Some(tick) = self.functions.tick {
            // SAFETY: see above.
            unsafe { tick(self.queue.as_ptr(), desk.now().ns()) };
        }
        self.look(true, desk);
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        // SAFETY: see above.
        let ns = self.functions.deadline.map(|deadline| unsafe { deadline(self.queue.as_ptr()) })?;
        (ns != u64::MAX).then(|| Time::from_ns(ns))
    }

    fn departures_change_internals(&self) -> bool {
        self.functions.departures_change_internals
    }
}
