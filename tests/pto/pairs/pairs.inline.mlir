// Real and imaginary parts taken apart, inline: rows of 8 bytes at a pitch of 16, into rows of 64; the rest of a row is zero first.
// dmaverify: gm %z = 4x2x2xf32
// dmaverify: expect proved
func.func @pairs(%z: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c4 = arith.constant 4 : i64
  %c8 = arith.constant 8 : i64
  %c16 = arith.constant 16 : i64
  %c64 = arith.constant 64 : i64
  %c512 = arith.constant 512 : i64
  %off = arith.constant false
  %i0 = arith.constant 0 : index
  %i2 = arith.constant 2 : index
  %i64 = arith.constant 64 : index
  %none = arith.constant 0.0 : f32
  %re = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  %im = pto.castptr %c512 : i64 -> !pto.ptr<f32, ub>
  pto.vecscope {
    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    %v = pto.vdup %none, %m : f32, !pto.mask<b32> -> !pto.vreg<64xf32>
    pto.vsts %v, %re[%i0], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
    pto.vsts %v, %im[%i0], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
  }
  pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID2"]
  pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID2"]
  pto.mte_gm_ub %z, %re, %c0, %c8 nburst(%c4, %c16, %c64)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  %second = pto.addptr %z, %i2 : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  pto.mte_gm_ub %second, %im, %c0, %c8 nburst(%c4, %c16, %c64)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.pipe_barrier "PIPE_ALL"
  pto.mte_ub_gm %re, %out, %c8 nburst(%c4, %c64, %c8)
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  %behind = pto.addptr %out, %c8 : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  pto.mte_ub_gm %im, %behind, %c8 nburst(%c4, %c64, %c8)
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}
