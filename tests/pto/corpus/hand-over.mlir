// Tiles that the cube core fills, one a round, stored as they are; each is given back behind its store.
// dmaverify: gm %out = 8192 bytes
// dmaverify: other core writes ub 0..1023 before 3 after 4
// dmaverify: expect proved
// broken: pto.sync.set <PIPE_MTE3>, 4 => pto.sync.set <PIPE_V>, 4 => core/hazard-war
func.func @hand_over(%out: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c256 = arith.constant 256 : index
  %c0_i64 = arith.constant 0 : i64
  %c8_i64 = arith.constant 8 : i64
  %c128_i64 = arith.constant 128 : i64
  %ub = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  scf.for %i = %c0 to %c8 step %c1 {
    %at = arith.muli %i, %c256 : index
    %to = pto.addptr %out, %at : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    pto.sync.wait <PIPE_MTE3>, 3
    pto.mte_ub_gm %ub, %to, %c128_i64 nburst(%c8_i64, %c128_i64, %c128_i64)
        : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.sync.set <PIPE_MTE3>, 4
  }
  return
}
