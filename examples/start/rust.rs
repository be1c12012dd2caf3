//! A kernel that loads a matrix, one row to each slice, and stores it in another layout.

use furiosa_opt_std::prelude::*;

axes![Row = 512, Col = 64];

type Chip = m![1];
type Matrix = HbmTensor<bf16, Chip, m![Row, Col]>;
type Turned = HbmTensor<bf16, Chip, m![Col / 4, Row, Col % 4]>;

#[device(chip = 1)]
pub fn turn(ctx: &mut Context, input: &Matrix) -> Turned {
    let rows = input.to_dm::<m![Row / 256], m![Row % 256], m![Col]>(&mut ctx.tdma);
    rows.to_hbm(&mut ctx.tdma)
}
