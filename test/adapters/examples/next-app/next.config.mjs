export default { serverExternalPackages: ['rowstash'] } // LevelDB is not JavaScript
