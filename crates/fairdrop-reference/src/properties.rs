//! Properties as in `proptest!`, under a runner of one type. The runner that `proptest!` makes for the types of each property was
//! most of what the compiler had to do for the tests of the library.

use std::any::Any;
use std::fmt::{self, Debug};

use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::{Reason, TestCaseResult, TestRunner};

use crate::cases::cases;

/// Tests of properties, written as in `proptest!`: as many cases as [`cases`] says, and the smallest case that fails is shown.
#[macro_export]
macro_rules! properties {
    ($($(#[$attribute:meta])* fn $name:ident($($pattern:pat in $strategy:expr),+ $(,)?) $body:block)*) => {$(
        $(#[$attribute])*
        fn $name() {
            $crate::properties::hold(stringify!($($pattern),+), ($($strategy,)+), |($($pattern,)+)| {
                $body
                Ok(())
            });
        }
    )*};
}

/// A case of any type.
trait Case: Any + Debug {}

impl<T: Any + Debug> Case for T {}

/// A case, with the names of its parts.
struct Shown(&'static str, Box<dyn Case>);

impl Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) = {:?}", self.0, self.1)
    }
}

type Tree = Box<dyn ValueTree<Value = Shown>>;

struct Named<T>(&'static str, T);

impl<T: ValueTree<Value: 'static>> ValueTree for Named<T> {
    type Value = Shown;

    fn current(&self) -> Shown {
        Shown(self.0, Box::new(self.1.current()))
    }

    fn simplify(&mut self) -> bool {
        self.1.simplify()
    }

    fn complicate(&mut self) -> bool {
        self.1.complicate()
    }
}

/// A strategy behind a pointer.
struct Cases<'s>(&'s dyn Fn(&mut TestRunner) -> Result<Tree, Reason>);

impl Debug for Cases<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cases")
    }
}

impl Strategy for Cases<'_> {
    type Tree = Tree;
    type Value = Shown;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        (self.0)(runner)
    }
}

/// Fails where a property does not hold for a case of a strategy; `names` are those of its parts.
pub fn hold<S: Strategy<Tree: 'static, Value: 'static>>(
    names: &'static str,
    strategy: S,
    property: impl Fn(S::Value) -> TestCaseResult,
) {
    let new_tree = |runner: &mut TestRunner| Ok(Box::new(Named(names, strategy.new_tree(runner)?)) as Tree);
    run(&Cases(&new_tree), &|Shown(_, case)| {
        let case: Box<dyn Any> = case;
        property(*case.downcast().expect("the strategy makes no other type"))
    });
}

fn run(strategy: &Cases<'_>, property: &dyn Fn(Shown) -> TestCaseResult) {
    let mut runner = TestRunner::new(cases());
    if let Err(error) = runner.run(strategy, property) {
        panic!("{error}\n{runner}");
    }
}
