//! Names of members of a list of tables in messages and in the paths of settings.

use crate::plain::{MAX_NAME, is_plain};
use crate::tree::{Data, Node};
use std::collections::HashMap;

/// Path of member number `index` of `list`, called `name`: by its number where the name cannot stand in a path.
pub fn member(list: &str, index: usize, name: Option<&str>) -> String {
    let can_stand = |name: &&str| {
        let is_number = name.parse::<usize>().is_ok();
        let is_name = is_plain(name) && (1..=MAX_NAME).contains(&name.len());
        is_name && !is_number && !name.contains(['.', '='])
    };
    match name.filter(can_stand) {
        Some(name) => format!("{list}.{name}"),
        None => format!("{list}.{index}"),
    }
}

/// The same of tables that were read; by their numbers, too, where two have one name.
pub fn members(list: &str, items: &[Node]) -> Vec<String> {
    let name = |item: &'_ Node| match item.get("name").map(|name| &name.data) {
        Some(Data::Text(name)) => Some(name.clone()),
        _ => None,
    };
    let names: Vec<_> = items.iter().map(name).collect();
    let mut count = HashMap::new();
    names.iter().flatten().for_each(|name| *count.entry(name).or_insert(0) += 1);
    let is_unique = |name: &&String| count[name] == 1;
    let paths = names.iter().enumerate();
    paths
        .map(|(index, name)| member(list, index, name.as_ref().filter(is_unique).map(String::as_str)))
        .collect()
}
