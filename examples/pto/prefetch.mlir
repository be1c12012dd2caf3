// Loads run one tile ahead of the stores, through three buffers in turn, for any number of tiles.
// dmaverify: gm %in = 256 * %tiles bytes
// dmaverify: gm %out = 256 * %tiles bytes
// dmaverify: assume %tiles in 1..1000000
// dmaverify: expect proved
func.func @prefetch(%in: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>, %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %len = arith.constant 256 : i64
  %ub = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID2"]
  pto.mte_gm_ub %in, %ub, %z, %len nburst(%one, %len, %len) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  scf.for %tile = %c0 to %tiles step %c1 {
    %next = arith.addi %tile, %c1 : index
    %more = arith.cmpi slt, %next, %tiles : index
    scf.if %more {
      %turn = arith.remui %next, %c3 : index
      %at = arith.muli %turn, %c64 : index
      %from = arith.muli %next, %c64 : index
      %buffer = pto.addptr %ub, %at : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
      %source = pto.addptr %in, %from : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
      pto.wait_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %turn]
      pto.mte_gm_ub %source, %buffer, %z, %len nburst(%one, %len, %len) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
      pto.set_flag_dyn["PIPE_MTE2", "PIPE_MTE3", %turn]
    }
    %turn = arith.remui %tile, %c3 : index
    %at = arith.muli %turn, %c64 : index
    %to = arith.muli %tile, %c64 : index
    %buffer = pto.addptr %ub, %at : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
    %dest = pto.addptr %out, %to : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    pto.wait_flag_dyn["PIPE_MTE2", "PIPE_MTE3", %turn]
    pto.mte_ub_gm %buffer, %dest, %len nburst(%one, %len, %len) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.set_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %turn]
  }
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID2"]
  return
}
