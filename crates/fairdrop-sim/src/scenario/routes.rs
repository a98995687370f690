//! Static routes over a graph of links.

use super::Link;
use std::collections::{HashMap, VecDeque};

/// Links on the way from `from` to `to` with the fewest links; the first in the file wins between equals.
pub fn shortest(links: &[Link], from: &str, to: &str) -> Option<Vec<usize>> {
    let mut reached: HashMap<&str, Option<usize>> = HashMap::from([(from, None)]);
    let mut open = VecDeque::from([from]);
    while let Some(node) = open.pop_front() {
        if node == to {
            break;
        }
        for (index, link) in links.iter().enumerate().filter(|(_, link)| link.from == node) {
            if !reached.contains_key(link.to.as_str()) {
                reached.insert(&link.to, Some(index));
                open.push_back(&link.to);
            }
        }
    }
    let mut route = Vec::new();
    let mut node = to;
    while let Some(index) = *reached.get(node)? {
        route.push(index);
        node = &links[index].from;
    }
    route.reverse();
    Some(route)
}

/// Links along `nodes`; the first pair without a link is the error.
pub fn along<'a>(links: &[Link], nodes: &'a [String]) -> Result<Vec<usize>, (&'a str, &'a str)> {
    nodes
        .windows(2)
        .map(|pair| {
            let found = links.iter().position(|link| link.from == pair[0] && link.to == pair[1]);
            found.ok_or((pair[0].as_str(), pair[1].as_str()))
        })
        .collect()
}
