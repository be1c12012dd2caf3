// Two buffers loaded for the cube core, in turn: each is loaded again once that core has read it.
// dmaverify: gm %in = 4096 bytes
// dmaverify: other core reads ub 0..1023 after 4 before 6
// dmaverify: other core reads ub 1024..2047 after 5 before 7
// dmaverify: expect proved
// broken: pto.sync.set <PIPE_MTE2>, 5 // second => pto.sync.set <PIPE_MTE3>, 5 // second => core/hazard-raw
func.func @hand_out(%in: !pto.ptr<f32, gm>) {
  %c256 = arith.constant 256 : index
  %c512 = arith.constant 512 : index
  %c768 = arith.constant 768 : index
  %c0_i64 = arith.constant 0 : i64
  %c8_i64 = arith.constant 8 : i64
  %c128_i64 = arith.constant 128 : i64
  %c1024_i64 = arith.constant 1024 : i64
  %one = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  %two = pto.castptr %c1024_i64 : i64 -> !pto.ptr<f32, ub>
  %b = pto.addptr %in, %c256 : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  %c = pto.addptr %in, %c512 : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  %d = pto.addptr %in, %c768 : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  pto.mte_gm_ub %in, %one, %c0_i64, %c128_i64 nburst(%c8_i64, %c128_i64, %c128_i64)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.sync.set <PIPE_MTE2>, 4
  pto.mte_gm_ub %b, %two, %c0_i64, %c128_i64 nburst(%c8_i64, %c128_i64, %c128_i64)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.sync.set <PIPE_MTE2>, 5
  pto.sync.wait <PIPE_MTE2>, 6
  pto.mte_gm_ub %c, %one, %c0_i64, %c128_i64 nburst(%c8_i64, %c128_i64, %c128_i64)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.sync.set <PIPE_MTE2>, 4
  pto.sync.wait <PIPE_MTE2>, 7
  pto.mte_gm_ub %d, %two, %c0_i64, %c128_i64 nburst(%c8_i64, %c128_i64, %c128_i64)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.sync.set <PIPE_MTE2>, 5 // second
  return
}
