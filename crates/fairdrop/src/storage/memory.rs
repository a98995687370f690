//! Source of storage when the discipline is chosen at run time.

/// Hands out the storage of a queue when it is made; nothing is taken after that.
///
/// One discipline needs a ring of slots, another lists and a table of flows. Code that names its discipline passes
/// that storage itself; [`crate::AnyDiscipline`] asks a `Memory` for the storage of the chosen discipline. A host
/// with an allocator hands out boxes, an embedded one pieces of a static buffer.
pub trait Memory {
    /// A piece that holds a number of `T`.
    type Of<T>: AsRef<[T]> + AsMut<[T]>;

    /// `count` values, each the default; `None` when there is no room for them.
    fn take<T: Default>(&mut self, count: usize) -> Option<Self::Of<T>>;
}

/// Storage that a host lends: anything that is a slice of `T`. There is nothing to implement.
pub trait Storage<T>: AsRef<[T]> + AsMut<[T]> {}

impl<T, S: AsRef<[T]> + AsMut<[T]>> Storage<T> for S {}
