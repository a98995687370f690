//! Lines to the control socket.

use fairdrop_live::config::TwoWay;
use fairdrop_live::control::{Request, Steering};
use fairdrop_live::host::mailbox;
use std::cell::RefCell;
use std::sync::Arc;

/// Lines of one input that are answered.
const MOST_LINES: usize = 4;

thread_local! {
    /// A link that has ended: requests are read, put into its description and checked, and the change itself is refused.
    static ENDED: RefCell<Steering> = RefCell::new(ended());
}

fn ended() -> Steering {
    let text = "[queue]\ndiscipline = \"choke\"\nlimit = \"100p\"\n[up]\nrate = \"10mbit\"\n[down.queue]\ndiscipline = \"red\"\n";
    let link = TwoWay::parse(text, "fuzz.toml", &[]).expect("it is a link");
    let mailbox = || mailbox(Arc::new(())).0;
    Steering::new("fuzz", link, [mailbox(), mailbox()])
}

/// Answers lines: each is refused with a reason, and one that is a request is the same once it is written and read again.
pub fn control(data: &[u8]) {
    for line in data.split(|&byte| byte == b'\n').take(MOST_LINES) {
        match Request::read(line) {
            Err(why) => assert!(!why.is_empty()),
            Ok(request) => {
                let written = serde_json::to_vec(&request).expect("it is JSON");
                assert_eq!(Request::read(&written).as_ref(), Ok(&request));
                let why = ENDED.with_borrow_mut(|steering| steering.answer(&request)).err();
                assert!(why.is_some_and(|why| !why.is_empty()), "{request:?}");
            }
        }
    }
}
