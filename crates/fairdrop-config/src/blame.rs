//! Finds the setting that makes a valid file invalid.

use crate::problem::Problem;

/// `problems` of a file with `settings`, where problems that the file alone does not have are attributed to the first setting
/// that causes them, so that the message names the option and not a line of the file. `read` gives the problems with other
/// settings.
pub fn blamed(
    problems: Vec<Problem>,
    settings: &[String],
    read: impl Fn(&[String]) -> Vec<Problem>,
) -> Vec<Problem> {
    let is_open = |problem: &Problem| problem.is_of_file();
    if settings.is_empty() || !problems.iter().any(is_open) {
        return problems;
    }
    let found: Vec<Vec<Problem>> = (0..settings.len()).map(|count| read(&settings[..count])).collect();
    let has = |problem: &Problem, found: &Vec<Problem>| found.iter().any(|other| other.is_same(problem));
    let place = |problem: Problem| {
        // The last reading that does not have it is the one before the setting to blame.
        let before = found.iter().rposition(|found| !has(&problem, found));
        match before.filter(|_| is_open(&problem) && !has(&problem, &found[0])) {
            Some(before) => problem.blamed(&settings[before]),
            None => problem,
        }
    };
    let mut placed: Vec<_> = problems.into_iter().map(place).collect();
    // In the order of the file's lines, then what came from elsewhere.
    placed.sort_by_key(Problem::line);
    placed
}
