// One buffer, and everything waits: slow and plainly right. It leaves what ping-pong.mlir leaves.
// dmaverify: gm %in = 64x1024xf32
// dmaverify: gm %out = 64x1024xf32
// dmaverify: assume %n in 1..3
func.func @onebuffer(%in: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c1024 = arith.constant 1024 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %len = arith.constant 4096 : i64
  %b = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  scf.for %i = %c0 to %n step %c1 {
    %goff = arith.muli %i, %c1024 : index
    %src = pto.addptr %in, %goff : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    %dst = pto.addptr %out, %goff : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    pto.mte_gm_ub %src, %b, %z, %len nburst(%one, %len, %len) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    pto.barrier #pto.pipe<PIPE_ALL>
    pto.vecscope {
      scf.for %j = %c0 to %c1024 step %c64 {
        %v = pto.vlds %b[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        %w = pto.vabs %v : !pto.vreg<64xf32>
        pto.vsts %w, %b[%j] : !pto.vreg<64xf32>, !pto.ptr<f32, ub>
      }
    }
    pto.barrier #pto.pipe<PIPE_ALL>
    pto.mte_ub_gm %b, %dst, %len nburst(%one, %len, %len) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.barrier #pto.pipe<PIPE_ALL>
  }
  return
}
