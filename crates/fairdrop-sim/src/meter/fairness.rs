//! Fairness of an allocation.

/// Jain's index of `shares`: (sum x)^2 / (n sum x^2), 1 when all are equal, 1/n when one has everything. `None` when
/// there is nothing to share.
///
/// Source: R. Jain, D. Chiu, W. Hawe, DEC Research Report TR-301, 1984.
pub fn jain_index(shares: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum, squares) =
        shares.fold((0_u64, 0.0, 0.0), |(count, sum, squares), x: f64| (count + 1, sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (count as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_the_scale() {
        assert_eq!(jain_index([2.0; 5].into_iter()), Some(1.0));
        assert_eq!(jain_index([0.0, 0.0, 0.0, 7.0].into_iter()), Some(0.25));
        assert_eq!(jain_index([0.0; 3].into_iter()), None);
        assert_eq!(jain_index(std::iter::empty()), None);
    }
}
