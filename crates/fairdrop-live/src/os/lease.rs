//! A bounded number of places.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One place of several, given back when it is dropped.
#[derive(Debug)]
pub struct Lease(Arc<AtomicUsize>);

impl Lease {
    /// `count` places, all free.
    pub fn places(count: usize) -> Arc<AtomicUsize> {
        Arc::new(AtomicUsize::new(count))
    }

    /// One of them, if one is free.
    pub fn take(places: &Arc<AtomicUsize>) -> Option<Self> {
        let less = |free: usize| free.checked_sub(1);
        places.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).ok()?;
        Some(Self(Arc::clone(places)))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back() {
        let places = Lease::places(1);
        let one = Lease::take(&places).unwrap();
        assert!(Lease::take(&places).is_none());
        drop(one);
        assert!(Lease::take(&places).is_some());
    }
}
