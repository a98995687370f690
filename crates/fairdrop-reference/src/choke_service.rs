//! `CHOKe` by order of service: arrivals are those of `CHOKe`, which [`crate::red`] does; what leaves is taken from a plain
//! list. Which packet leaves at random comes from the implementation, and must be one that waits.

use fairdrop::disciplines::choke_service::Place;
use fairdrop::{ChokeServiceParams, DrawFrom, Packet};

use crate::host::Queue;
use crate::red::{ChokeScheme, Reference, Scheme};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

pub fn reference(params: ChokeServiceParams) -> Option<Box<dyn Slow>> {
    let draw = match params.draw {
        Place::Uniform => DrawFrom::Uniform,
        Place::Head => DrawFrom::Head,
        Place::Tail => DrawFrom::Tail,
    };
    let scheme = ChokeScheme::plain(1, draw);
    Some(Box::new(ByService {
        choke: Reference::new(Scheme::Choke(params.red, scheme)),
        serve: params.serve,
    }))
}

struct ByService {
    choke: Reference,
    serve: Place,
}

impl Slow for ByService {
    fn arrive(&mut self, arrival: Arrival, random: Random) -> Decided {
        Slow::arrive(&mut self.choke, arrival, random)
    }

    fn dequeue(&mut self, now: u64, fast: &Queue, random: Random) -> Departure {
        let waiting = self.choke.queue.len();
        if waiting == 0 {
            return Slow::dequeue(&mut self.choke, now, fast, random);
        }
        let at = match self.serve {
            Place::Head => 0,
            Place::Tail => waiting - 1,
            Place::Uniform => {
                let mut left = Vec::new();
                fast.for_each_waiting(|packet| left.push(packet.handle));
                let gone = |packet: &Packet<u32>| !left.contains(&packet.handle);
                self.choke.queue.iter().position(gone).ok_or("nothing left")?
            }
        };
        Ok((Vec::new(), Some(self.choke.queue.remove(at))))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.choke.queue.clone()
    }
}
