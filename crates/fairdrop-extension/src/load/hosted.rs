//! A queue whose discipline is in a shared object: what the simulator calls.

use super::bench::{Bench, Words, ecn_of, from_c, table, to_c, verdict};
use super::table::{Arrivals, Departures, Functions};
use crate::{Desk, ExtensionQueue, Gate, Setup, Wrong};
use fairdrop::{Backlog, DropCause, Env, Packet, Time};
use fairdrop_ffi::{Packet as CPacket, PluginHost};
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
        desk.name_values(names.iter().copied());
        let bench = Box::into_raw(Box::new(Bench::new(setup, words, desk)));
        let host = Box::into_raw(Box::new(table(bench, version, setup)));
        // SAFETY: no call is running. The values have a place of their own, which stays: they are named once.
        unsafe { (*host).values = desk.values.as_mut_ptr() };
        // SAFETY: the host stays where it is until `release` has returned.
        let queue = NonNull::new(unsafe { (functions.make)(host) });
        match (queue, desk.take_wrong()) {
            (Some(queue), None) => {
                let mut hosted = Self { functions, queue, bench, host };
                hosted.count(desk);
                hosted.show(desk);
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

    /// Before a call: the functions of the host work on `desk`, and the fields say what it holds.
    #[inline]
    fn begin(&mut self, desk: &mut Desk) {
        // SAFETY: the queue is not called now, so nobody else uses the bench and the fields.
        unsafe {
            (*self.host).packets = desk.fifo().len();
            (*self.host).bytes_waiting = desk.fifo().bytes();
            (*self.bench).desk = desk;
        }
    }

    /// Puts on the desk what it says that waits.
    #[inline]
    fn count(&mut self, desk: &mut Desk) {
        let Backlog { packets, bytes } = &mut desk.backlog;
        if let Some(backlog) = self.functions.backlog {
            // SAFETY: the queue was made by the same table.
            unsafe { backlog(self.queue.as_ptr(), packets, bytes) };
        } else {
            desk.backlog = Backlog { packets: desk.fifo().len(), bytes: desk.fifo().bytes() };
        }
    }

    /// Puts on the desk what it decides by, unless it has written that itself.
    #[inline]
    fn show(&mut self, desk: &mut Desk) {
        if let Some(show) = self.functions.show {
            // SAFETY: the desk has room for as many values as the table has names.
            unsafe { show(self.queue.as_ptr(), desk.values.as_mut_ptr()) };
        }
    }

    fn next_deadline(&self) -> Option<Time> {
        // SAFETY: the queue was made by the same table.
        let ns = self.functions.deadline.map(|deadline| unsafe { deadline(self.queue.as_ptr()) })?;
        (ns != u64::MAX).then(|| Time::from_ns(ns))
    }

    fn call_tick(&mut self, desk: &mut Desk) {
        self.begin(desk);
        if let Some(tick) = self.functions.tick {
            // SAFETY: as of the calls below.
            unsafe { tick(self.queue.as_ptr(), desk.now().ns()) };
        }
        self.show(desk);
    }

    /// What becomes of an arrival, which may be marked.
    #[inline]
    fn call_admit(
        &mut self,
        admit: unsafe extern "C" fn(*mut c_void, *mut CPacket, u64) -> i32,
        packet: &mut Packet<u32>,
        desk: &mut Desk,
    ) -> Option<DropCause> {
        let mut shown = to_c(packet);
        self.begin(desk);
        // SAFETY: as of the calls below.
        let number = unsafe { admit(self.queue.as_ptr(), &raw mut shown, desk.now().ns()) };
        (packet.meta.ecn, packet.meta.label) = (ecn_of(shown.ecn), shown.label);
        self.show(desk);
        verdict(number, desk)
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
impl ExtensionQueue for Hosted {
    fn enqueue(&mut self, packet: &Packet<u32>, desk: &mut Desk) -> Result<(), Box<Wrong>> {
        match self.functions.arrivals {
            Arrivals::Enqueue(enqueue) => {
                let shown = to_c(packet);
                self.begin(desk);
                // SAFETY: see above.
                unsafe { enqueue(self.queue.as_ptr(), &raw const shown, desk.now().ns()) };
                self.show(desk);
            }
            Arrivals::Admit(admit) => {
                let mut packet = packet.clone();
                let cause = self.call_admit(admit, &mut packet, desk);
                let handle = packet.handle;
                if let Some(cause) = cause.or_else(|| (!desk.push(packet)).then_some(DropCause::Overflow)) {
                    desk.refuse(handle, cause);
                }
            }
        }
        self.count(desk);
        Ok(())
    }

    fn dequeue(&mut self, desk: &mut Desk) -> Result<Option<Packet<u32>>, Box<Wrong>> {
        let Departures::Dequeue(dequeue) = self.functions.departures else { return Ok(None) };
        self.begin(desk);
        let mut packet = NO_PACKET;
        // SAFETY: see above.
        let given = unsafe { dequeue(self.queue.as_ptr(), &raw mut packet, desk.now().ns()) };
        self.count(desk);
        if self.functions.departures_change_internals {
            self.show(desk);
        }
        Ok(given.then(|| from_c(&packet)))
    }

    fn tick(&mut self, desk: &mut Desk) -> Result<(), Box<Wrong>> {
        self.call_tick(desk);
        self.count(desk);
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        self.next_deadline()
    }

    fn departures_change_internals(&self) -> bool {
        self.functions.departures_change_internals
    }
}

/// Where the table has `admit` and no `dequeue`.
impl Gate for Hosted {
    fn admit(&mut self, packet: &mut Packet<u32>, desk: &mut Desk) -> Option<DropCause> {
        match self.functions.arrivals {
            Arrivals::Admit(admit) => self.call_admit(admit, packet, desk),
            Arrivals::Enqueue(_) => None,
        }
    }

    fn idle(&mut self, desk: &mut Desk) {
        if let Departures::Head(Some(idle)) = self.functions.departures {
            self.begin(desk);
            // SAFETY: see above.
            unsafe { idle(self.queue.as_ptr(), desk.now().ns()) };
            if self.functions.departures_change_internals {
                self.show(desk);
            }
        }
    }

    fn tick(&mut self, desk: &mut Desk) {
        self.call_tick(desk);
    }

    fn deadline(&self) -> Option<Time> {
        self.next_deadline()
    }

    fn departures_change_internals(&self) -> bool {
        self.functions.departures_change_internals
    }
}
