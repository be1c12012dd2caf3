//! False alarms of the past, reduced: all of these are right, and were refuted once.

use furiosa_opt_std::prelude::*;

axes![H = 3840, B = 64, One = 1, Rows = 256];

type Chip = m![1];
type Cluster = m![1 # 2];

/// Rows of 120 padded to 128: the end of a digit is no cut.
#[device(chip = 1)]
pub fn padded_rows(ctx: &mut Context, d: &DmTensor<bf16, Chip, Cluster, m![H / 120, 1 # 8], m![H % 120]>) -> HbmTensor<bf16, Chip, m![H / 120, H % 120 # 128]> {
    d.to_hbm(&mut ctx.tdma)
}

/// A window of 96 in a digit of 120.
#[device(chip = 1)]
pub fn window(ctx: &mut Context, w: &HbmTensor<bf16, Chip, m![H, B]>) {
    let part = w.view().tile::<m![H % 120], 96, m![H / 120, H % 120 = 96 # 120, B]>(0);
    let _part: DmTensor<bf16, Chip, Cluster, m![H / 120, 1 # 8], m![H % 120 = 96, B]> = part.to_dm(&mut ctx.tdma);
}

/// One element and padding on both sides, by a literal and by an axis of size 1.
#[device(chip = 1)]
pub fn scalars(ctx: &mut Context, a: &HbmTensor<bf16, Chip, m![1 # 8]>, b: &HbmTensor<bf16, Chip, m![One # 8]>, c: &HbmTensor<f32, Chip, m![1]>) {
    let _a: DmTensor<bf16, Chip, Cluster, m![Rows], m![1 # 8]> = a.to_dm(&mut ctx.tdma);
    let _b: DmTensor<bf16, Chip, Cluster, m![Rows], m![One # 8]> = b.to_dm(&mut ctx.tdma);
    let _c: DmTensor<f32, Chip, Cluster, m![Rows], m![1 # 8]> = c.to_dm(&mut ctx.tdma);
}

/// An offset that a helper is given: only the starts that its callers pass occur.
#[device(chip = 1)]
pub fn offsets(ctx: &mut Context, w: &HbmTensor<i8, Chip, m![Rows, B]>) {
    part(ctx, w, 0);
    part(ctx, w, 32);
}

fn part(ctx: &mut Context, w: &HbmTensor<i8, Chip, m![Rows, B]>, offset: usize) {
    let part = w.view().tile::<m![B], 32, m![Rows, B = 32 # 64]>(offset);
    let _part: DmTensor<i8, Chip, Cluster, m![Rows], m![B = 32]> = part.to_dm(&mut ctx.tdma);
}
