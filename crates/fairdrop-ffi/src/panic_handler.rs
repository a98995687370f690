//! What a panic ends in when there is no standard library. The code is written not to panic; should it, going on would be
//! worse.

use core::panic::PanicInfo;

#[link(name = "c")]
unsafe extern "C" {
    safe fn abort() -> !;
}

#[panic_handler]
fn panic(_info: &PanicInfo<'_>) -> ! {
    abort()
}
