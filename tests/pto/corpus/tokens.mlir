// Two buffers in turn, guarded by tokens instead of flags.
// dmaverify: expect proved
// dmaverify: gm %x = 16x1024xf32
// broken: %skip = arith.muli %turn, %c1024 => %skip = arith.muli %turn, %c512 => core/hazard-war
func.func @tokens(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) attributes {pto.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %c1024 = arith.constant 1024 : index
  %c0_i64 = arith.constant 0 : i64
  %c4_i64 = arith.constant 4 : i64
  %c1024_i64 = arith.constant 1024 : i64
  pto.section.vector {
    %ub = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
    %end = scf.for %i = %c0 to %c16 step %c1 iter_args(%at = %c0) -> (index) {
      %turn = arith.remui %i, %c2 : index
      %token = arith.index_cast %turn : index to i64
      %skip = arith.muli %turn, %c1024 : index
      %slot = pto.addptr %ub, %skip : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
      %from = pto.addptr %x, %at : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
      %to = pto.addptr %y, %at : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
      pto.get_buf_dyn "PIPE_MTE2", %token, %c0_i64 : i64, i64
      pto.mte_gm_ub %from, %slot, %c0_i64, %c1024_i64 nburst(%c4_i64, %c1024_i64, %c1024_i64) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64 x5
      pto.rls_buf_dyn "PIPE_MTE2", %token, %c0_i64 : i64, i64
      pto.get_buf_dyn "PIPE_MTE3", %token, %c0_i64 : i64, i64
      pto.mte_ub_gm %slot, %to, %c1024_i64 nburst(%c4_i64, %c1024_i64, %c1024_i64) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64 x4
      pto.rls_buf_dyn "PIPE_MTE3", %token, %c0_i64 : i64, i64
      %next = arith.addi %at, %c1024 : index
      scf.yield %next : index
    }
    pto.barrier #pto.pipe<PIPE_ALL>
  } {pto.section_id = 0 : i64}
  return
}
