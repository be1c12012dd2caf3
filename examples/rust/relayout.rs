//! A matrix through data memory and back: aliases, inferred places, a helper that is generic over its slices.
//!
//!     dmaverify check examples/rust/relayout.rs
//!     dmaverify check examples/rust/relayout.rs --explain

use furiosa_opt_std::prelude::*;

axes![Row = 512, Col = 64];

type Chip = m![1];
type Matrix = HbmTensor<bf16, Chip, m![Row, Col]>;
type Turned = HbmTensor<bf16, Chip, m![Col / 4, Row, Col % 4]>;

/// One half of the rows to each cluster, one row to each slice.
type Cluster = m![Row / 256];
type Slice = m![Row % 256];

/// The load names its places in the annotation, the store takes its layout from the result.
#[device(chip = 1)]
pub fn turn(ctx: &mut Context, input: &Matrix) -> Turned {
    let rows: DmTensor<bf16, Chip, Cluster, Slice, m![Col]> = input.to_dm(&mut ctx.tdma);
    rows.to_hbm(&mut ctx.tdma)
}

/// The same load with its places in the call, and a store into a tensor of the caller.
#[device(chip = 1)]
pub fn turn_in_place(ctx: &mut Context, inputs: (&Matrix, &Matrix), out: &mut Turned) {
    let (left, _) = inputs;
    let rows = left.to_dm::<Cluster, Slice, m![Col]>(&mut ctx.tdma);
    rows.view().to_hbm_view(&mut ctx.tdma, out.view_mut());
}

/// Generic over where the rows lie: checked once for every call that says where.
fn stage<S: M, E: M>(ctx: &mut Context, input: &Matrix) -> DmTensor<bf16, Chip, m![1 # 2], S, E> {
    input.to_dm(&mut ctx.tdma)
}

#[device(chip = 1)]
pub fn staged_twice(ctx: &mut Context, input: &Matrix) -> (Matrix, Matrix) {
    let pairs = stage::<m![Row / 2], m![Row % 2, Col]>(ctx, input);
    let quads = stage::<m![Row / 4, 1 # 2], m![Row % 4, Col]>(ctx, input);
    (pairs.to_hbm(&mut ctx.tdma), quads.to_hbm(&mut ctx.tdma))
}
