//! What an NBD client says before the transmission phase, in pieces of any size.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shoal_serve::{Export, Exports, Negotiation, Step, TlsStage};

// Pieces are as long as the first byte says; the second says whether there is TLS.
fuzz_target!(|input: &[u8]| {
    let [length, tls, said @ ..] = input else { return };
    let pond = Export::whole("pond", "six sticks", 1 << 30, false);
    let ice = Export { offset: 4096, ..Export::whole("ice", "", 8192, true) };
    let exports = Exports::new(vec![pond, ice], 1 << 30, 4096).expect("they are good");
    let stage = if tls & 1 == 0 { TlsStage::Absent } else { TlsStage::Required };
    let mut negotiation = Negotiation::new(&exports, stage);
    let mut replies = Vec::new();
    for piece in said.chunks(usize::from(*length).max(1)) {
        match negotiation.receive(piece, &mut replies) {
            Step::Receive => {}
            Step::StartTls => negotiation.is_secured(),
            Step::Transmit(agreement) => {
                assert!(agreement.export < 2 && (agreement.structured || !agreement.block_status));
                return;
            }
            Step::End => return,
        }
        assert!(replies.len() <= 64 * said.len() + 64, "a little makes much");
    }
});
