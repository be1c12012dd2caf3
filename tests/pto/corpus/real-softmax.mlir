// Rows of 100 numbers filled up to 128 with minus infinity, one buffer each way.
// dmaverify: expect proved
// broken: nburst(%c4_i64, %c400_i64, %c512_i64) => nburst(%c4_i64, %c400_i64, %c400_i64) => core/writes-once
// dmaverify: gm %x = 256x100xf32
// dmaverify: gm %y = 256x100xf32
func.func @softmax(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c400 = arith.constant 400 : index
  %c0_i64 = arith.constant 0 : i64
  %c4_i64 = arith.constant 4 : i64
  %c28_i64 = arith.constant 28 : i64
  %c400_i64 = arith.constant 400 : i64
  %c512_i64 = arith.constant 512 : i64
  %c2048_i64 = arith.constant 2048 : i64
  %ninf = arith.constant 0xFF800000 : f32
  %a = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  %o = pto.castptr %c2048_i64 : i64 -> !pto.ptr<f32, ub>
  pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
  pto.set_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  scf.for %t = %c0 to %c64 step %c1 {
    %at = arith.muli %t, %c400 : index
    %s = pto.addptr %x, %at : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    %d = pto.addptr %y, %at : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
    // 4 rows of 100, filled up to 128 columns: 28 more, 25 of them asked for and the rest of the block
    pto.mte_gm_ub %s, %a, %c0_i64, %c400_i64 nburst(%c4_i64, %c400_i64, %c512_i64) pad(%ninf, %c0_i64, %c28_i64)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, pad f32, i64, i64
    pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
    pto.vecscope {
      %all = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
      scf.for %r = %c0 to %c4 step %c1 {
        %lo = arith.muli %r, %c128 : index
        %hi = arith.addi %lo, %c64 : index
        %p = pto.vlds %a[%lo] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        %q = pto.vlds %a[%hi] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        %m0 = pto.vmax %p, %q, %all : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        %m1 = pto.vcmax %m0, %all : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        %top = pto.vdup %m1, %all {position = "LOWEST"} : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        %pe = pto.vexpdif %p, %top, %all : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        %qe = pto.vexpdif %q, %top, %all : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        %s0 = pto.vadd %pe, %qe, %all : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        %s1 = pto.vcadd %s0, %all : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        %sum = pto.vdup %s1, %all {position = "LOWEST"} : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        %pd = pto.vdiv %pe, %sum, %all : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        %qd = pto.vdiv %qe, %sum, %all : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        pto.vsts %pd, %o[%lo], %all : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
        pto.vsts %qd, %o[%hi], %all : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
      }
    }
    pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
    pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
    pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
    pto.mte_ub_gm %o, %d, %c400_i64 nburst(%c4_i64, %c512_i64, %c400_i64)
      : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.set_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  }
  pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  return
}
